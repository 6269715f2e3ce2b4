"""What an encoder can read: shapes and types always, values where looking at them costs no wait."""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["check_inputs", "check_rows_of_table"]

_INDICES = (torch.int64, torch.int32)  # what tables can be looked up by


def check_inputs(token_ids: Tensor, **beside: Tensor | None) -> None:
    """Refuse what is no row of tokens, and what does not lie beside it.

    Args:
        token_ids: int64 or int32 (N, L), L at least 1.
        beside: by name: `positions` are (1|N, L) or (A, 1|N, L), `token_types` (1|N, L), the others (N, L).

    Raises:
        UsageError: the message names the argument and the type or shape that it must have.
    """
    if torch.compiler.is_compiling():
        return
    for name, tensor in {"token_ids": token_ids, **beside}.items():
        if tensor is None:
            continue
        if not isinstance(tensor, Tensor):
            raise UsageError(f"`{name}` must be a tensor, but is a {type(tensor).__name__} instead.")
        if name in ("token_ids", "token_types") and tensor.dtype not in _INDICES:
            raise UsageError(f"`{name}` must be int64 or int32, but are {tensor.dtype} instead.")
    if token_ids.ndim != 2:
        raise UsageError(f"`token_ids` must have shape (N, L), but has shape {tuple(token_ids.shape)} instead.")
    rows, length = token_ids.shape
    if length == 0:
        raise UsageError("`token_ids` must hold at least 1 token a row, but rows are empty. Leave out empty texts.")
    for name, tensor in beside.items():
        if tensor is None:
            continue
        fitting = [(rows, length)]
        if name in ("positions", "token_types"):
            fitting.append((1, length))
        shape = tuple(tensor.shape)
        if (shape[1:] if name == "positions" and len(shape) == 3 else shape) not in fitting:
            wanted = " or ".join(str(each) for each in dict.fromkeys(fitting))
            raise UsageError(f"`{name}` must have shape {wanted}, as `token_ids` say, but has shape {shape} instead.")


def check_rows_of_table(ids: Tensor, rows: int, name: str) -> None:
    """Refuse numbers that are no rows of a table. On the CPU only: elsewhere the host would wait for the device.

    Raises:
        UsageError: the message names the bound and the numbers.
    """
    if ids.device.type != "cpu" or ids.numel() == 0 or torch.compiler.is_compiling():
        return
    lowest, highest = (int(end) for end in ids.aminmax())
    if lowest < 0 or highest >= rows:
        raise UsageError(
            f"`{name}` must be in [0, {rows}), the rows of the table, but reach from {lowest} to {highest} instead. "
            "Use the tokenizer that the encoder was made for."
        )

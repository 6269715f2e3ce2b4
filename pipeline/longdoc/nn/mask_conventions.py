"""Masks as other libraries hand them over: numbers instead of booleans, True = masked instead of True = may attend."""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["allowed_from_masked", "as_bool"]

_HARD = -1e4  # the weakest additive mask in use (the first BERT); anything above it is a bias, not a mask


def allowed_from_masked(mask: Tensor) -> Tensor:
    """What `AttentionMask.from_masked` takes -> bool (1|N, 1, 1|L, L), True = may attend."""
    if not isinstance(mask, Tensor):
        raise UsageError(f"`mask` must be a tensor, but is a {type(mask).__name__} instead.")
    shape = tuple(mask.shape)
    padding = mask.ndim == 4 and shape[1:3] == (1, 1)
    square = mask.ndim == 4 and shape[1] == 1 and shape[2] == shape[3]
    shared = mask.ndim == 3 and shape[0] == 1 and shape[1] == shape[2]
    if not (padding or square or shared):
        raise UsageError(
            f"`mask` must have shape (N, 1, 1, L), (1, L, L) or (N, 1, L, L), but has shape {shape} instead."
        )
    if mask.dtype != torch.bool:
        low, high = mask == 0, (mask == 1) | (mask <= _HARD)
        if not bool((low | high).all()):
            raise UsageError(
                "`mask` must hold 0 and 1 (1 = masked), or 0 and values of -10000 or less where it is additive, "
                "but holds other values. What is added to scores is a bias: pass it as `bias` to `attend`."
            )
        mask = high
    return ~(mask[:, None] if shared else mask)


def as_bool(tensor: Tensor, name: str) -> Tensor:
    """A mask of booleans or of 0 and 1, as tokenizers make them, as booleans; `name` is for the message."""
    if tensor.dtype == torch.bool:
        return tensor
    if not bool(((tensor == 0) | (tensor == 1)).all()):
        raise UsageError(f"`{name}` must be bool or hold only 0 and 1, but holds other values.")
    return tensor == 1

"""What numbers may be positions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError

__all__ = [
    "MOST_ROWS",
    "Base",
    "FarOffset",
    "PastMaxLen",
    "check_base",
    "check_distinct",
    "check_integers",
    "check_limit",
    "check_positions",
    "check_whole",
]

MOST_ROWS = 1 << 24
"""Rows that a table may have: far above any that exists, low enough that a configuration cannot stall the machine."""

FarOffset = Annotated[int, Field(ge=-(1 << 31), le=1 << 31)]
"""A number that is added to each position."""

LEAST_BASE, MOST_BASE = 1.0, 1e18
"""Between these all waves, stretched or not, are float32 numbers; beyond, they would become 0 or infinite."""

Base = Annotated[float, Field(ge=LEAST_BASE, le=MOST_BASE)]
"""The base of wavelengths or frequencies."""

PastMaxLen = Literal["extend", "error"]
"""What a formula does with a position at or past `max_len`: go on with the formula, or refuse."""


def check_base(value: float, name: str) -> None:
    """Refuse what is no base of frequencies.

    Raises:
        UsageError: not a number of [1, 1e18]: waves would become 0 or infinite.
    """
    if not LEAST_BASE <= value <= MOST_BASE:
        raise UsageError(f"`{name}` must be in [{LEAST_BASE:g}, {MOST_BASE:g}], but is {value:g} instead.")


def check_limit(max_len: int | None, past_max_len: PastMaxLen) -> None:
    """Refuse a limit without a place.

    Raises:
        UsageError: `error` without `max_len`, which would refuse nothing.
    """
    if past_max_len == "error" and max_len is None:
        raise UsageError("`past_max_len` must be `extend` where there is no `max_len`, but is `error`. Set `max_len`.")


def check_distinct(values: Sequence[Hashable], name: str) -> None:
    """Refuse a list in which something comes twice.

    Raises:
        UsageError: the message names how many come again.
    """
    if again := len(values) - len(set(values)):
        raise UsageError(f"`{name}` must be distinct, but {again} of {len(values)} come again.")


def check_whole(value: int, name: str, least: int, most: int = MOST_ROWS) -> None:
    """Refuse what is no whole number of `[least, most]`.

    Raises:
        UsageError: the message names the bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"`{name}` must be a whole number in [{least}, {most}], but is {value} instead.")


def check_integers(tensor: Tensor, name: str, shape: torch.Size | None = None) -> None:
    """Refuse what is no tensor of whole numbers.

    Args:
        shape: that of the tensor beside it; None = any.

    Raises:
        UsageError: the message names the type or the shape.
    """
    if not isinstance(tensor, Tensor):
        raise UsageError(f"`{name}` must be a tensor of integers, but is a {type(tensor).__name__} instead.")
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise UsageError(f"`{name}` must be integers, but are {tensor.dtype} instead.")
    if shape is not None and tensor.shape != shape:
        raise UsageError(f"`{name}` must have shape {tuple(shape)}, but has shape {tuple(tensor.shape)} instead.")


def check_positions(positions: Tensor, max_len: int | None) -> None:
    """Refuse what is no integer, and positions outside `[0, max_len)` where there is a limit.

    On the CPU every position is looked at. Elsewhere that would make the host wait for the device in each forward
    pass, so the length of the rows is compared instead; what slips through meets the device's own index check.

    Raises:
        UsageError: the message names the limit and the position.
    """
    if positions.dtype.is_floating_point or positions.dtype.is_complex or positions.dtype == torch.bool:
        raise UsageError(
            f"`positions` must be integers, but are {positions.dtype} instead: a floating type of 16 bits cannot tell "
            "neighbours apart past 256."
        )
    if max_len is None or positions.numel() == 0 or torch.compiler.is_compiling() or positions.is_meta:
        return
    if positions.device.type == "cpu":
        lowest, highest = (int(end) for end in positions.aminmax())
    else:
        lowest, highest = 0, positions.shape[-1] - 1
    if lowest < 0 or highest >= max_len:
        raise UsageError(
            f"`positions` must be in [0, {max_len}), the limit of this position encoding, but reach from {lowest} to "
            f"{highest} instead. Cut the text into chunks of at most {max_len} tokens, or extend the encoding."
        )

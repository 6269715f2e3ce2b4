"""What numbers may be positions."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["MOST_ROWS", "FarOffset", "PastMaxLen", "check_base", "check_positions"]

MOST_ROWS = 1 << 24
"""Rows that a table may have: far above any that exists, low enough that a configuration cannot stall the machine."""

FarOffset = Annotated[int, Field(ge=-(1 << 31), le=1 << 31)]
"""A number that is added to each position."""

PastMaxLen = Literal["extend", "error"]
"""What a formula does with a position at or past `max_len`: go on with the formula, or refuse."""


def check_base(value: float, name: str) -> None:
    """Refuse what is no base of frequencies.

    Raises:
        UsageError: not a finite number greater than 0.
    """
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"`{name}` must be a finite number greater than 0, but is {value} instead.")


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

"""Rotary positions on several axes: rows and columns of image patches or of a page grid.

The frequencies are those of one-dimensional rotary positions, each turned by one axis. A token with the same number on
every axis, as text tokens have, is therefore turned exactly as in one dimension (Qwen2-VL, Wang et al. 2024, arXiv
2409.12191, calls this M-RoPE; Pixtral deals frequencies out in turn, arXiv 2410.07073).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.axes import side_by_side, some_axes
from longdoc.nn.position.axial import Axes
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.limits import Base, check_base, check_distinct
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.position.rotation import PairLayout, RotationPlan
from longdoc.nn.position.scaling import plain_frequencies
from longdoc.schema import Config

__all__ = ["AxialRotaryConfig", "AxialRotaryPosition"]


class AxialRotaryPosition(PositionEncoding):
    """Turns queries and keys by a token's place on several axes, for any positions.

    Args:
        width: Dh, even.
        axes: which axes of (A, 1|N, L) positions are read, in this order.
        sections: how many frequencies each axis turns, side by side and high ones first, Dh / 2 in all (M-RoPE); None
            = dealt out in turn, so that every axis has high and low ones.
        layout: which components make a pair, as for rotary positions.
        theta: base of the frequencies.
    """

    def __init__(
        self,
        width: int,
        axes: Sequence[int] = (1, 2),
        sections: Sequence[int] | None = None,
        layout: PairLayout = "half",
        theta: float = 10000.0,
    ) -> None:
        super().__init__()
        if width < 2 or width % 2:
            raise UsageError(f"`width` must be even and at least 2, but is {width} instead.")
        if not axes or min(axes) < 0:
            raise UsageError(f"`axes` must be numbers of axes, 0 or more, but is {tuple(axes)} instead.")
        check_distinct(axes, "axes")
        if sections is not None and (len(sections) != len(axes) or sum(sections) != width // 2):
            raise UsageError(
                f"`sections` must be {len(axes)} numbers, one for each axis, that add up to {width // 2}, half the "
                f"width of a head, but are {tuple(sections)} instead."
            )
        check_base(theta, "theta")
        self.width = width
        self.axes = tuple(axes)
        self.layout: PairLayout = layout
        self.theta = theta
        turns = range(width // 2)
        self.axis_of_pair = (
            tuple(pair % len(axes) for pair in turns)
            if sections is None
            else tuple(number for number, count in enumerate(sections) for _ in range(count))
        )

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        """Cosines and sines for one forward pass, float32 whatever `dtype` is, also under autocast."""
        axes = torch.stack(side_by_side(some_axes(positions, self.axes)), -1)  # (1|N, L, A)
        own = axes[..., torch.tensor(self.axis_of_pair, device=positions.device)].float()  # (1|N, L, Dh / 2)
        angles = own * plain_frequencies(self.theta, self.width, positions.device)
        return RotationPlan([angles.reshape(-1, 1, *angles.shape[-2:])], self.layout)

    def extra_repr(self) -> str:
        return f"width={self.width}, axes={self.axes}, layout={self.layout}, theta={self.theta:g}"


class AxialRotaryConfig(Config):
    """Queries and keys turned by a token's row and column (or other axes); any size, nothing to train."""

    kind: Literal["axial_rotary"] = "axial_rotary"
    axes: Axes = (1, 2)
    """Which axes of the positions are read; 0 is the reading order. Plain text has the same number on all."""
    sections: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """How many frequencies each axis turns, side by side; null = dealt out in turn."""
    layout: PairLayout = "half"
    """Which components make a pair: `half` = i and i + half, `interleaved` = 2i and 2i + 1."""
    theta: Base = 10000.0
    """Base of the frequencies."""

    def build(self, geometry: Geometry) -> AxialRotaryPosition:
        """The encoding for an encoder of this geometry."""
        return AxialRotaryPosition(geometry.head_width, self.axes, self.sections, self.layout, self.theta)

"""Rotary positions (Su et al. 2021, "RoFormer", arXiv 2104.09864).

Each pair of components of a query or key is turned by an angle proportional to its position, so that the product of a
query and a key depends on their distance only. Values are not turned.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.base import Geometry, PastMaxLen, PositionEncoding, PositionPlan, check_positions
from longdoc.schema import Config

__all__ = ["RotaryConfig", "RotaryPosition"]

Layout = Literal["half", "interleaved"]


class RotaryPosition(PositionEncoding):
    """Turns queries and keys, for any position.

    Args:
        width: Dh, the width of one head.
        layout: which components make a pair. `half` = i and i + half (Llama, GPT-NeoX, ModernBERT); `interleaved` =
            2i and 2i + 1 (RoFormer, GPT-J, NeoBERT). A wrong one never crashes and is always wrong: it belongs to the
            weights.
        theta: base of the frequencies, `theta^(-2i / turned)`.
        partial_rotary_factor: share of the head that is turned; the exponent runs over the turned part only, and the
            rest passes through bit for bit.
        max_len: positions are meant to be below this; None = no limit.
        past_max_len: `extend` goes on with the formula, `error` refuses.
    """

    def __init__(
        self,
        width: int,
        layout: Layout = "half",
        theta: float = 10000.0,
        partial_rotary_factor: float = 1.0,
        max_len: int | None = None,
        past_max_len: PastMaxLen = "extend",
    ) -> None:
        super().__init__()
        if layout not in ("half", "interleaved"):
            raise UsageError(f"`layout` must be `half` or `interleaved`, but is {layout!r} instead.")
        if theta <= 0:
            raise UsageError(f"`theta` must be greater than 0, but is {theta} instead.")
        turned = int(width * partial_rotary_factor)
        if not 0 < turned <= width or turned % 2:
            raise UsageError(
                "`partial_rotary_factor` must leave an even number of components to turn, at least 2 and at most "
                f"{width}, the width of a head, but {partial_rotary_factor} leaves {turned} instead."
            )
        self.width = width
        self.layout: Layout = layout
        self.theta = theta
        self.turned = turned
        self.max_len = max_len
        self.past_max_len: PastMaxLen = past_max_len

    @property
    def max_tokens(self) -> int | None:
        return self.max_len if self.past_max_len == "error" else None

    def frequencies(self, device: torch.device | str = "cpu") -> Tensor:
        """float32 (turned / 2,): angle per step of position. Computed, never stored."""
        exponents = torch.arange(0, self.turned, 2, dtype=torch.int64, device=device).float() / self.turned
        return 1.0 / (self.theta**exponents)

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        """Cosines and sines for one forward pass, float32 whatever `dtype` is, also under autocast.

        Float32 rather than float64, since this is what the checkpoints were trained with; never a 16-bit type, in
        which positions past 256 coincide.
        """
        check_positions(positions, self.max_tokens)
        with torch.autocast(positions.device.type, enabled=False):
            angles = positions.reshape(-1, 1, positions.shape[-1], 1).float() * self.frequencies(positions.device)
            return _RotaryPlan(angles.cos(), angles.sin(), self.layout)

    def extra_repr(self) -> str:
        return f"width={self.width}, layout={self.layout}, theta={self.theta:g}, turned={self.turned}"


class _RotaryPlan(PositionPlan):
    """Cosines and sines, (1|N, 1, L, turned / 2)."""

    def __init__(self, cosines: Tensor, sines: Tensor, layout: Layout) -> None:
        self.cosines = cosines
        self.sines = sines
        self.layout = layout

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        return self._turn(q), self._turn(k)

    def _turn(self, x: Tensor) -> Tensor:
        turned = 2 * self.cosines.shape[-1]
        y = x[..., :turned].to(torch.promote_types(x.dtype, torch.float32))
        a, b = y.chunk(2, -1) if self.layout == "half" else (y[..., 0::2], y[..., 1::2])
        c, d = a * self.cosines - b * self.sines, b * self.cosines + a * self.sines
        y = torch.cat([c, d], -1) if self.layout == "half" else torch.stack([c, d], -1).flatten(-2)
        y = y.to(x.dtype)
        return y if turned == x.shape[-1] else torch.cat([y, x[..., turned:]], -1)


class RotaryConfig(Config):
    """Queries and keys turned by their position; any length, nothing to train."""

    kind: Literal["rotary"] = "rotary"
    layout: Layout = "half"
    """Which components make a pair: `half` = i and i + half, `interleaved` = 2i and 2i + 1."""
    theta: float = Field(default=10000.0, gt=0)
    """Base of the frequencies."""
    partial_rotary_factor: float = Field(default=1.0, gt=0, le=1)
    """Share of each head that is turned."""
    max_len: int | None = Field(default=None, ge=1)
    """Positions are meant to be below this; None = no limit."""
    past_max_len: PastMaxLen = "extend"
    """`extend` goes on with the formula past `max_len`, `error` refuses."""

    def build(self, geometry: Geometry) -> RotaryPosition:
        """The encoding for an encoder of this geometry."""
        return RotaryPosition(
            geometry.head_width, self.layout, self.theta, self.partial_rotary_factor, self.max_len, self.past_max_len
        )

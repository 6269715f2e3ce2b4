"""Sinusoidal positions with trained weights: `x + g * PE[p]`.

The weight is one number for each position, for each component, or for all (the "scaled positional encoding" of
Transformer-TTS, Li et al. 2019, arXiv 1809.08895). It starts at 1, where this is the plain sinusoidal encoding.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.base import AdditivePosition, Geometry
from longdoc.nn.position.limits import MOST_ROWS, Base
from longdoc.nn.position.sinusoidal import Layout, SinusoidalPosition
from longdoc.schema import Config

__all__ = ["WeightedConfig", "WeightedPosition"]

WeightAxis = Literal["position", "dim", "scalar"]


class WeightedPosition(AdditivePosition):
    """Adds weighted sines and cosines of a position, for any position.

    Args:
        width: D.
        max_len: trained weights where there is one for each position. Past the end the last one holds, since that is
            the nearest one that was trained.
        axis: `position` = one weight for each position; `dim` = one for each component; `scalar` = one in all.
        layout, base: as for the sinusoidal encoding.

    Attributes:
        weight: (1, max_len, 1), (1, 1, D) or (1,). The axes are explicit: a plain vector would broadcast along the
            components without complaint wherever `max_len` happens to equal D.
    """

    def __init__(
        self,
        width: int,
        max_len: int = 512,
        axis: WeightAxis = "position",
        layout: Layout = "interleaved",
        base: float = 10000.0,
    ) -> None:
        super().__init__(width)
        shapes: dict[str, tuple[int, ...]] = {"position": (1, max_len, 1), "dim": (1, 1, width), "scalar": (1,)}
        if axis not in shapes:
            raise UsageError(f"`axis` must be `position`, `dim` or `scalar`, but is {axis!r} instead.")
        if max_len < 1:
            raise UsageError(f"`max_len` must be at least 1, but is {max_len} instead.")
        self.axis: WeightAxis = axis
        self.max_len = max_len
        self.sinusoidal = SinusoidalPosition(width, layout, base)
        self.weight = nn.Parameter(torch.ones(shapes[axis]))

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) -> float64 (1|N, L, D)."""
        order = reading_order(positions)
        weight: Tensor = self.weight
        if self.axis == "position":
            weight = weight[0, order.clamp(0, self.max_len - 1)]  # (1|N, L, 1)
        return weight * self.sinusoidal.vectors(order)

    def extra_repr(self) -> str:
        return f"width={self.width}, max_len={self.max_len}, axis={self.axis}"


class WeightedConfig(Config):
    """Sines and cosines with trained weights, added to the embeddings; any length."""

    kind: Literal["weighted"] = "weighted"
    axis: WeightAxis = "position"
    """`position` = one weight for each position, `dim` = one for each component, `scalar` = one in all."""
    max_len: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """Trained weights where there is one for each position; None = the encoder's `max_len`. The last one holds on."""
    layout: Layout = "interleaved"
    """`interleaved` = sine, cosine, sine ... ; `concat` = all sines, then all cosines."""
    base: Base = 10000.0
    """The longest wavelength is 2 pi * base."""

    def build(self, geometry: Geometry) -> WeightedPosition:
        """The encoding for an encoder of this geometry."""
        return WeightedPosition(
            geometry.embedding_width, self.max_len or geometry.max_len, self.axis, self.layout, self.base
        )

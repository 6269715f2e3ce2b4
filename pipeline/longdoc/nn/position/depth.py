"""Depth in a tree as a trained vector: the weak form of a tree position, which cannot tell siblings apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.position.axes import axis_or_zeros
from longdoc.nn.position.base import AdditivePosition, Geometry, StackedPosition
from longdoc.nn.position.limits import MOST_ROWS
from longdoc.nn.position.sinusoidal import SinusoidalConfig
from longdoc.schema import Config

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["DepthConfig", "DepthPosition"]


class DepthPosition(AdditivePosition):
    """Adds a trained vector for the depth of each token; it never replaces the order.

    Args:
        width: D.
        max_depth: deeper tokens count as this deep.
        axis: the axis of (A, 1|N, L) positions that holds the depth. 0 = at the root, as special tokens are, and as
            every token is where positions are the reading order alone. Pieces of a word have the depth of the word.

    Attributes:
        weight: (max_depth + 1, D).
    """

    def __init__(self, width: int, max_depth: int = 8, axis: int = 1) -> None:
        super().__init__(width)
        if max_depth < 1:
            raise UsageError(f"`max_depth` must be at least 1, but is {max_depth} instead.")
        if axis < 1:
            raise UsageError(f"`axis` must be the number of a further axis, 1 or more, but is {axis} instead.")
        self.max_depth = max_depth
        self.axis = axis
        self.weight = nn.Parameter(torch.empty(max_depth + 1, width))
        nn.init.normal_(self.weight, std=0.02)

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) or (A, 1|N, L) -> (1|N, L, D), in the dtype of the table."""
        return F.embedding(axis_or_zeros(positions, self.axis).clamp(0, self.max_depth), self.weight)

    @property
    def further_axes(self) -> Mapping[int, str]:
        return {self.axis: "depth"}

    def extra_repr(self) -> str:
        return f"width={self.width}, max_depth={self.max_depth}, axis={self.axis}"


class DepthConfig(Config):
    """A trained vector for the depth of each token in a tree, on top of another encoding."""

    kind: Literal["depth"] = "depth"
    order: PositionConfig = SinusoidalConfig()
    """The encoding that carries the order of the tokens."""
    max_depth: int = Field(default=8, ge=1, le=MOST_ROWS)
    """Deeper tokens count as this deep."""
    axis: int = Field(default=1, ge=1)
    """The axis of the positions that holds the depth: of a document 3 in its sections, 2 outside."""

    def build(self, geometry: Geometry) -> StackedPosition:
        """The encoding for an encoder of this geometry."""
        return StackedPosition(
            [self.order.build(geometry), DepthPosition(geometry.embedding_width, self.max_depth, self.axis)]
        )

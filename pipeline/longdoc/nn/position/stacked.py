"""Several position encodings at once, as one kind of the union (MPNet: a learned table and a bias by distance)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from longdoc.nn.position.base import Geometry, StackedPosition
from longdoc.schema import Config

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["StackedConfig"]


class StackedConfig(Config):
    """Several encodings at once: each adds, turns and biases after the one before it."""

    kind: Literal["stacked"] = "stacked"
    parts: tuple[PositionConfig, ...] = Field(min_length=1)
    """The encodings, in the order in which they touch the embeddings."""

    def build(self, geometry: Geometry) -> StackedPosition:
        """The encoding for an encoder of this geometry."""
        return StackedPosition([part.build(geometry) for part in self.parts])

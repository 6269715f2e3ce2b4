"""No position at all.

An encoder that attends both ways then sees a bag of words: permuting the tokens permutes the states. With a causal
mask, order can still be told from what each token may see (Kazemnejad et al. 2023, arXiv 2305.19466).
"""

from __future__ import annotations

from typing import Literal

from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.schema import Config

__all__ = ["NoPosition", "NoPositionConfig"]


class NoPosition(PositionEncoding):
    """All three moments are neutral."""


class NoPositionConfig(Config):
    """No position at all: the encoder reads a bag of words, unless its attention is causal."""

    kind: Literal["none"] = "none"

    def build(self, geometry: Geometry) -> NoPosition:
        """The encoding for an encoder of this geometry."""
        return NoPosition()

"""The mean of a document's chunk rows, weighted by core tokens."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from longdoc.nn.mergers.base import WeightedMerger, chunk_shares
from longdoc.schema import Config

__all__ = ["MeanMerger", "MeanMergerConfig"]


class MeanMerger(WeightedMerger):
    """Weighted by core tokens: with `mean` pooling each token of the document counts exactly once."""

    associative = True

    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        return chunk_shares(weights, owner, documents)[:, None].expand_as(rows)


class MeanMergerConfig(Config):
    """The mean of the chunks, weighted by their core tokens."""

    kind: Literal["mean"] = "mean"

    def build(self, width: int) -> MeanMerger:
        """The merger for rows of `width`."""
        return MeanMerger()

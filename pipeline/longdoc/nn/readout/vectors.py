"""Chunk vectors are merged into a document vector, which the head scores.

Shape letters: N chunks, D width, B documents, C classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from longdoc.nn.exact import exact
from longdoc.nn.heads import HeadConfig, LinearHead, LinearHeadConfig
from longdoc.nn.mergers import MeanMergerConfig, Merger, VectorMergerConfig, WeightedMerger
from longdoc.nn.pooling import PoolingKind
from longdoc.nn.readout.base import ReadoutSettings
from longdoc.nn.readout.integrated import integrated_slopes
from longdoc.nn.readout.pooled import PooledReadout

__all__ = ["VectorsReadout", "VectorsReadoutConfig"]


class VectorsReadout(PooledReadout):
    """Pool each chunk, merge a document's vectors, score the merged one.

    With a merger that weighs chunks, what a chunk gives to a score is its weight times its own score, the weight taken
    as it is; with another one it is found by integrated gradients.
    """

    def __init__(self, width: int, pooling: PoolingKind, merger: Merger, head: LinearHead) -> None:
        super().__init__(width, pooling, merger, head)
        self.exact_evidence = isinstance(merger, WeightedMerger)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        return self.head.classify(self.merger(vectors, owner, weights, documents, ordinals))

    def condensed(self, rows: Tensor, weights: Tensor) -> Tensor:
        return self.merged(rows, weights) if self.condenses else super().condensed(rows, weights)

    def base(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        nothing = torch.zeros_like(vectors)
        return self.head.classify(self.merger(nothing, owner, weights, documents, ordinals))

    def slopes(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, label: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        merger = self.merger
        if isinstance(merger, WeightedMerger):
            gains = merger.gains(exact(vectors), owner, weights, documents)
            return (gains * self.head.output.weight[label].to(gains.dtype)).detach()

        def score(vectors: Tensor) -> Tensor:
            return self.head.classify(merger(vectors, owner, weights, documents, ordinals))[:, label]

        return self.widened(integrated_slopes(score, vectors))


class VectorsReadoutConfig(ReadoutSettings):
    """Chunk vectors merged into a document vector, then scored."""

    kind: Literal["vectors"] = "vectors"
    pooling: PoolingKind = "mean"
    """How a chunk's states become one vector: `cls`, or `mean` or `max` over its core tokens."""
    merger: VectorMergerConfig = MeanMergerConfig()
    """How a document's chunks become one, by its `kind`."""
    head: HeadConfig = LinearHeadConfig()
    """What scores the document, by its `kind`."""

    def build(self, width: int, classes: int) -> VectorsReadout:
        """The readout for an encoder of `width` and `classes` scores."""
        return VectorsReadout(width, self.pooling, self.merger.build(width), self.head.build(width, classes))

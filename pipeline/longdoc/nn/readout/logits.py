"""Each chunk is scored by itself, and the scores of a document's chunks are merged, label by label.

This is how a document is read when one passage is enough to decide: the label of the passage is the label of the
document ("multiple instance learning", Dietterich et al. 1997).

Shape letters: N chunks, D width, B documents, C classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from longdoc.nn.heads import HeadConfig, LinearHead, LinearHeadConfig
from longdoc.nn.mergers import LogitMergerConfig, MaxMergerConfig, Merger, WeightedMerger
from longdoc.nn.pooling import PoolingKind
from longdoc.nn.readout.base import ReadoutSettings
from longdoc.nn.readout.integrated import integrated_slopes
from longdoc.nn.readout.pooled import PooledReadout

__all__ = ["LogitsReadout", "LogitsReadoutConfig"]


class LogitsReadout(PooledReadout):
    """Pool each chunk, score it, merge a document's scores.

    Dropout drops units of each chunk by itself. With the `mean` merger and no dropout the numbers are those of
    `vectors`. A merger that wants quiet chunks at first (`noisy_or`) gets a head whose bias says so.
    """

    def __init__(self, width: int, pooling: PoolingKind, merger: Merger, head: LinearHead) -> None:
        super().__init__(width, pooling, merger, head)
        self.exact_evidence = isinstance(merger, WeightedMerger)
        nn.init.constant_(head.output.bias, merger.quiet)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        return self.merger(self.head.classify(vectors), owner, weights, documents, ordinals)  # type: ignore[no-any-return]

    def condensed(self, rows: Tensor, weights: Tensor) -> Tensor:
        return self.merged(self.head.classify(rows), weights) if self.condenses else super().condensed(rows, weights)

    def of_condensed(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        return self.merger(rows, owner, weights, documents)  # type: ignore[no-any-return]

    def base(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        nothing = self.head.classify(torch.zeros_like(vectors))
        return self.merger(nothing, owner, weights, documents, ordinals)  # type: ignore[no-any-return]

    def slopes(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, label: int) -> Tensor:
        vectors, ordinals = self.split(rows)
        merger = self.merger
        if isinstance(merger, WeightedMerger):
            gains = merger.gains(self.head.classify(vectors), owner, weights, documents)[:, label, None]
            return self.widened((gains * self.head.output.weight[label].to(gains.dtype)).detach())

        def score(vectors: Tensor) -> Tensor:
            logits = self.head.classify(vectors)[:, label, None]
            return merger(logits, owner, weights, documents, ordinals)[:, 0]  # type: ignore[no-any-return]

        return self.widened(integrated_slopes(score, vectors))


class LogitsReadoutConfig(ReadoutSettings):
    """Each chunk scored by itself, the scores merged label by label."""

    kind: Literal["logits"] = "logits"
    pooling: PoolingKind = "mean"
    """How a chunk's states become one vector: `cls`, or `mean` or `max` over its core tokens."""
    merger: LogitMergerConfig = MaxMergerConfig()
    """How the scores of a document's chunks become one, by its `kind`."""
    head: HeadConfig = LinearHeadConfig()
    """What scores a chunk, by its `kind`."""

    def build(self, width: int, classes: int) -> LogitsReadout:
        """The readout for an encoder of `width` and `classes` scores."""
        return LogitsReadout(width, self.pooling, self.merger.build(width), self.head.build(width, classes))

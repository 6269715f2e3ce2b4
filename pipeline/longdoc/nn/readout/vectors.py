"""Chunk vectors are merged into a document vector, which the head scores.

Shape letters: N chunks, L length, D width, F width of a row, B documents, C classes.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from longdoc.nn.exact import exact
from longdoc.nn.heads import HeadConfig, LinearHead, LinearHeadConfig
from longdoc.nn.mergers import MeanMergerConfig, Merger, MergerConfig
from longdoc.nn.pooling import POOLINGS, PoolingKind
from longdoc.schema import Config
from longdoc.types import ChunkBatch

__all__ = ["VectorsReadout", "VectorsReadoutConfig"]


class VectorsReadout(nn.Module):
    """Pool each chunk, merge a document's chunks, score the merged row.

    Args:
        width: D; rows have this width too.
        pooling: how a chunk's states become one vector.
        merger: how a document's rows become one.
        head: scores.
    """

    additive = True
    """Whether scores are sums over chunks, so that evidence can be told."""

    def __init__(self, width: int, pooling: PoolingKind, merger: Merger, head: LinearHead) -> None:
        super().__init__()
        self.row_width = width
        self.pooling = POOLINGS[pooling]
        self.merger = merger
        self.head = head

    @property
    def classes(self) -> int:
        """C."""
        return self.head.output.out_features

    @property
    def bias(self) -> Tensor:
        """(C,): what a document scores before any chunk speaks."""
        return exact(self.head.output.bias)

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        """Encoder states (N, L, D) -> one row a chunk (N, F), float32 or finer."""
        return self.head.transform(self.pooling.pool(hidden, batch))

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """Rows of whole documents (N, F) -> scores (B, C), float32 or finer.

        Args:
            rows: (N, F), all rows of each document.
            owner: int64 (N,), the document of each row.
            weights: (N,), core tokens of each chunk.
            documents: B.
        """
        return self.head.classify(self.merger(rows, owner, weights, documents))

    def chunk_contributions(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(N, C): what each chunk adds to each score; they sum to `documents()` less `bias` (in evaluation)."""
        return self.head.weigh(self.merger.contributions(rows, owner, weights, documents))

    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(N, F): how much of each row counts in its document's merged row."""
        return self.merger.gains(rows, owner, weights, documents)

    def token_contributions(self, hidden: Tensor, batch: ChunkBatch, gain: Tensor) -> Tensor | None:
        """What each token adds to each score.

        Args:
            hidden: (N, L, D), the states that `rows` was given.
            batch: their batch.
            gain: (N, F), from `gains` over all rows of the documents.

        Returns:
            (N, L, C), zero outside core tokens; a chunk's tokens sum to its `chunk_contributions`. None where a
            score is no sum over tokens: `cls` pooling, or a head that is not linear in a chunk's row.
        """
        shares = self.pooling.shares(hidden, batch) if self.head.linear_rows else None
        if shares is None:
            return None
        states = exact(hidden).masked_fill(~batch.core[..., None], 0.0)
        return self.head.weigh(states * shares * gain[:, None, :])


class VectorsReadoutConfig(Config):
    """Chunk vectors merged into a document vector, then scored."""

    kind: Literal["vectors"] = "vectors"
    pooling: PoolingKind = "mean"
    """How a chunk's states become one vector: `cls`, or `mean` or `max` over its core tokens."""
    merger: MergerConfig = MeanMergerConfig()
    """How a document's chunks become one, by its `kind`."""
    head: HeadConfig = LinearHeadConfig()
    """What scores the document, by its `kind`."""

    def build(self, width: int, classes: int) -> VectorsReadout:
        """The readout for an encoder of `width` and `classes` scores."""
        return VectorsReadout(width, self.pooling, self.merger.build(width), self.head.build(width, classes))

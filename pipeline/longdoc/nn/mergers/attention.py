"""A learned weighting of a document's chunks (Ilse et al. 2018, "Attention-based deep MIL", arXiv 1802.04712)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.mergers.base import WeightedMerger, chunk_shares, segment_softmax
from longdoc.schema import Config

__all__ = ["AttentionMerger", "AttentionMergerConfig", "ScoredMerger"]


class ScoredMerger(WeightedMerger):
    """softmax over a document's chunks of (score + log share).

    The share is the chunk's part of the document's core tokens, so overlapped text is not counted twice and a score
    that is the same for all chunks gives the `mean` merger.
    """

    @abstractmethod
    def scores(self, rows: Tensor) -> Tensor:
        """(N, F), float32 or finer -> (N,)."""

    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        shares = chunk_shares(weights, owner, documents)
        return segment_softmax(self.scores(exact(rows)), shares, owner, documents)[:, None].expand_as(rows)


class AttentionMerger(ScoredMerger):
    """score = w . tanh(V row). Training starts from the mean of the chunks: w begins at 0.

    Args:
        width: F.
        hidden: width of the scorer.
    """

    def __init__(self, width: int, hidden: int = 128) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)
        nn.init.normal_(self.inner.weight, std=0.02)
        nn.init.zeros_(self.inner.bias)
        nn.init.zeros_(self.score.weight)

    def scores(self, rows: Tensor) -> Tensor:
        return exact_linear(self.score, exact_linear(self.inner, rows).tanh())[:, 0]


class AttentionMergerConfig(Config):
    """A learned weighting of the chunks, starting from their mean."""

    kind: Literal["attention"] = "attention"
    hidden: int = Field(default=128, ge=1, le=1 << 20)
    """Width of the layer that scores chunks."""

    def build(self, width: int) -> AttentionMerger:
        """The merger for rows of `width`."""
        return AttentionMerger(width, self.hidden)

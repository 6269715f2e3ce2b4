"""A learned weighting of a document's chunks (Ilse et al. 2018, "Attention-based deep MIL", arXiv 1802.04712)."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.mergers.base import Merger, chunk_shares, segment_max, segment_sum
from longdoc.schema import Config

__all__ = ["AttentionMerger", "AttentionMergerConfig"]


class AttentionMerger(Merger):
    """softmax over a document's chunks of (score + log share), score = w . tanh(V row).

    The share is the chunk's part of the document's core tokens, so overlapped text is not counted twice and a score
    that is the same for all chunks gives the `mean` merger. That is also where training starts: w begins at 0.

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

    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        shares = chunk_shares(weights, owner, documents)
        scores = exact_linear(self.score, exact_linear(self.inner, exact(rows)).tanh())[:, 0]
        scores = scores.masked_fill(shares == 0, -torch.inf)
        peak = segment_max(scores.detach(), owner, documents)
        odds = shares * (scores - peak[owner]).exp()
        return (odds / segment_sum(odds, owner, documents)[owner])[:, None].expand_as(rows)


class AttentionMergerConfig(Config):
    """A learned weighting of the chunks, starting from their mean."""

    kind: Literal["attention"] = "attention"
    hidden: int = Field(default=128, ge=1)
    """Width of the layer that scores chunks."""

    def build(self, width: int) -> AttentionMerger:
        """The merger for rows of `width`."""
        return AttentionMerger(width, self.hidden)

"""Chunk rows of one document -> one row. What every merger is, and sums over the chunks of a document.

Ownership is an index, never a reshape: documents may have different numbers of chunks, in any order.

Shape letters: N chunks, B documents, F width of a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from longdoc.nn.exact import exact, wide

__all__ = ["Merger", "WeightedMerger", "chunk_shares", "segment_max", "segment_softmax", "segment_sum"]


class Merger(nn.Module, ABC):
    """Merges the rows of each document.

    The result depends neither on the order in which the rows are handed over nor on other documents. A document
    without chunks gives zeros. Chunks of weight 0 count only where a document has no others.
    """

    averages = True
    """Whether each component lies between the smallest and the largest of the chunks', so that chunks that agree are
    the document, however many, and one chunk is the document."""
    ordered = False
    """Whether it matters which chunk is the first, the second ...; if so, `ordinals` are needed."""
    highest_rate: float | None = None
    """The rate that its weights learn at is no higher, whatever suits the linear head behind it; None: any."""
    associative = False
    """Whether rows may be merged in parts: some chunks, merged, with the sum of their weights stand for all of them."""
    quiet = 0.0
    """The logit that a chunk should have before training, where logits are merged."""

    @abstractmethod
    def forward(
        self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, ordinals: Tensor | None = None
    ) -> Tensor:
        """Merge.

        Args:
            rows: (N, F), one a chunk.
            owner: int64 (N,), the document of each chunk, in [0, documents).
            weights: (N,), the number of core tokens of each chunk, so that overlapped text is not counted twice.
            documents: B.
            ordinals: int64 (N,), the number of each chunk in its document; None = rows stand in the order of the text.

        Returns:
            (B, F), float32 or finer.
        """


class WeightedMerger(Merger):
    """A merger whose result is a weighted sum of the rows, component by component, with weights that add up to 1."""

    def forward(
        self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, ordinals: Tensor | None = None
    ) -> Tensor:
        return segment_sum(self.contributions(rows, owner, weights, documents), owner, documents)

    @abstractmethod
    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(N, F): factors with which the merged row is the sum of gains * rows over a document's chunks."""

    def contributions(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(N, F): what each chunk gives to the merged row; they add up to `forward`."""
        rows = exact(rows)
        gains = self.gains(rows, owner, weights, documents)
        return (gains * rows).masked_fill(gains == 0, 0.0)  # not 0 * NaN: a chunk that counts for nothing gives nothing


def segment_sum(values: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N, ...) -> (B, ...): the sum over each document's chunks, accumulated in float64 where the device has it.

    Thousands of chunks, in any order, then give the same float32.
    """
    accurate = wide(values)
    total = torch.zeros(documents, *values.shape[1:], dtype=accurate.dtype, device=values.device)
    return total.index_add(0, owner, accurate).to(values.dtype)


def segment_max(values: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N, ...) -> (B, ...): the largest value among each document's chunks, -inf for a document without any."""
    lowest = torch.full((documents, *values.shape[1:]), -torch.inf, dtype=values.dtype, device=values.device)
    index = owner.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
    return lowest.scatter_reduce(0, index, values, "amax")


def segment_softmax(scores: Tensor, shares: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N, ...), (N,) -> (N, ...): softmax of (score + log share) over each document's chunks.

    A share of 0 gives exactly 0, whatever the score, forward and backward.
    """
    shares = shares.view(-1, *[1] * (scores.ndim - 1))
    scores = scores.masked_fill(shares == 0, -torch.inf)
    peak = segment_max(scores.detach(), owner, documents)
    odds = shares * (scores - peak[owner]).exp()
    return odds / segment_sum(odds, owner, documents)[owner]


def chunk_shares(weights: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N,): each chunk's share of its document's weight; equal shares where all weights of a document are 0."""
    weights = exact(weights)
    empty = segment_sum(weights, owner, documents) == 0
    weights = torch.where(empty[owner], 1.0, weights)
    return weights / segment_sum(weights, owner, documents)[owner]

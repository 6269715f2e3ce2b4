"""Chunk rows of one document -> one row. What every merger is, and sums over the chunks of a document.

Ownership is an index, never a reshape: documents may have different numbers of chunks, in any order.

Shape letters: N chunks, B documents, F width of a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from longdoc.nn.exact import exact

__all__ = ["Merger", "chunk_shares", "segment_max", "segment_sum"]


class Merger(nn.Module, ABC):
    """Merges the rows of each document.

    The result does not depend on the order of the chunks nor on other documents, and is the row itself for a document
    of one chunk. A document without chunks gives zeros. Chunks of weight 0 count only where a document has no others.
    """

    def forward(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """Merge.

        Args:
            rows: (N, F), one a chunk.
            owner: int64 (N,), the document of each chunk, in [0, documents).
            weights: (N,), the number of core tokens of each chunk, so that overlapped text is not counted twice.
            documents: B.

        Returns:
            (B, F), float32 or finer.
        """
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
    wide = values.dtype if values.device.type == "mps" else torch.float64
    total = torch.zeros(documents, *values.shape[1:], dtype=wide, device=values.device)
    return total.index_add(0, owner, values.to(wide)).to(values.dtype)


def segment_max(values: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N, ...) -> (B, ...): the largest value among each document's chunks, -inf for a document without any."""
    lowest = torch.full((documents, *values.shape[1:]), -torch.inf, dtype=values.dtype, device=values.device)
    index = owner.view(-1, *[1] * (values.ndim - 1)).expand_as(values)
    return lowest.scatter_reduce(0, index, values, "amax")


def chunk_shares(weights: Tensor, owner: Tensor, documents: int) -> Tensor:
    """(N,): each chunk's share of its document's weight; equal shares where all weights of a document are 0."""
    weights = exact(weights)
    empty = segment_sum(weights, owner, documents) == 0
    weights = torch.where(empty[owner], 1.0, weights)
    return weights / segment_sum(weights, owner, documents)[owner]

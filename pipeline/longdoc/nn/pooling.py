"""The states of a chunk's tokens -> one vector for the chunk.

`mean` and `max` look at core tokens only: neighbouring chunks share tokens, and a core token is answered by one chunk
alone, so together with the `mean` merger each token of a document counts exactly once.

Shape letters: N chunks, L length, D width.
"""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor

from longdoc.nn.exact import exact
from longdoc.types import ChunkBatch

__all__ = ["POOLINGS", "Pooling", "PoolingKind"]


class Pooling(Protocol):
    """How a chunk's states become one vector. A chunk without core tokens gives zeros, never NaN."""

    def pool(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        """(N, L, D) -> (N, D), at least float32."""
        ...

    def shares(self, hidden: Tensor, batch: ChunkBatch) -> Tensor | None:
        """(N, L, 1|D) with which the pooled vector is the sum of shares * states; None where it lies on no token."""
        ...


class FirstTokenPooling:
    """The state of the first real token, [CLS] in BERT, wherever padding stands."""

    def pool(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        if batch.valid is None:
            return exact(hidden[:, 0])
        first = batch.valid.to(torch.int8).argmax(-1)
        return exact(hidden[torch.arange(len(first), device=hidden.device), first])

    def shares(self, hidden: Tensor, batch: ChunkBatch) -> Tensor | None:
        return None


class MeanPooling:
    """The mean of the core tokens' states."""

    def pool(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        # Zeros in place of the others, not a product with 0: whatever stands there cannot leak, not even NaN.
        core = exact(hidden).masked_fill(~batch.core[..., None], 0.0)
        return core.sum(1) / batch.core.sum(1, keepdim=True).clamp(min=1)

    def shares(self, hidden: Tensor, batch: ChunkBatch) -> Tensor | None:
        return (batch.core / batch.core.sum(1, keepdim=True).clamp(min=1))[..., None]


class MeanWithSpecialsPooling:
    """The mean of the core tokens' states and those of the special tokens, each with the weight of one token.

    What a classifier of transformers averages, where its family's does; a text of one chunk has no other tokens.
    """

    def pool(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        special = ~batch.body if batch.valid is None else batch.valid & ~batch.body
        chosen = batch.core | special
        states = exact(hidden).masked_fill(~chosen[..., None], 0.0)
        return states.sum(1) / chosen.sum(1, keepdim=True).clamp(min=1)

    def shares(self, hidden: Tensor, batch: ChunkBatch) -> Tensor | None:
        return None  # part of the vector lies on special tokens


class MaxPooling:
    """The largest value of each component among the core tokens' states."""

    def pool(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        lowest = exact(hidden).masked_fill(~batch.core[..., None], -torch.inf)
        return lowest.amax(1).masked_fill(~batch.core.any(1, keepdim=True), 0.0)

    def shares(self, hidden: Tensor, batch: ChunkBatch) -> Tensor | None:
        won = (exact(hidden) == self.pool(hidden, batch)[:, None]) & batch.core[..., None]
        return won / won.sum(1, keepdim=True).clamp(min=1)


PoolingKind = Literal["cls", "mean", "max", "mean_with_specials"]
POOLINGS: dict[PoolingKind, Pooling] = {
    "cls": FirstTokenPooling(),
    "mean": MeanPooling(),
    "max": MaxPooling(),
    "mean_with_specials": MeanWithSpecialsPooling(),
}
"""The poolings by name. They have no parameters."""

"""A document's vector: the states of its tokens pooled, each token counted once, in bounded memory for any length.

A document of one chunk gives what sentence-transformers gives for it (Reimers and Gurevych 2019, arXiv 1908.10084):
pooling over all tokens of the row, special ones included. A longer one is pooled as if it were one row: its special
tokens are those before its first and behind its last token, and each of its own tokens comes from the chunk where its
context is widest ("late chunking" with overlapping chunks, Guenther et al. 2024, arXiv 2409.04701).

Shape letters: N chunks, L length, D width, B documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from longdoc.nn.exact import exact
from longdoc.nn.mergers.base import chunk_shares, segment_max, segment_sum
from longdoc.nn.pooling import POOLINGS
from longdoc.nn.readout.base import Readout, ReadoutSettings
from longdoc.types import ChunkBatch

__all__ = ["ChunkWeights", "EmbeddingPooling", "EmbeddingReadout", "EmbeddingReadoutConfig"]

EmbeddingPooling = Literal["mean", "max", "cls"]
"""How the states of a text's tokens become its vector."""
ChunkWeights = Literal["tokens", "chunks"]
"""What counts once in the mean of a document: each token, or each chunk."""


@dataclass(frozen=True)
class _Pooling:
    """`pool`: states (N, L, D) and the tokens that count (N, L) -> (N, D). `largest`: chunks merge by their maximum."""

    pool: Callable[[Tensor, Tensor, ChunkBatch], Tensor]
    largest: bool = False


def _mean(hidden: Tensor, chosen: Tensor, batch: ChunkBatch) -> Tensor:
    states = hidden.masked_fill(~chosen[..., None], 0.0)  # not a product with 0: what stands there may be NaN
    return states.sum(1) / chosen.sum(1, keepdim=True).clamp(min=1)


def _max(hidden: Tensor, chosen: Tensor, batch: ChunkBatch) -> Tensor:
    lowest = hidden.masked_fill(~chosen[..., None], -torch.inf)
    return lowest.amax(1).masked_fill(~chosen.any(1, keepdim=True), 0.0)


def _cls(hidden: Tensor, chosen: Tensor, batch: ChunkBatch) -> Tensor:
    return POOLINGS["cls"].pool(hidden, batch)


_POOLINGS: dict[EmbeddingPooling, _Pooling] = {
    "mean": _Pooling(_mean),
    "max": _Pooling(_max, largest=True),
    "cls": _Pooling(_cls),
}


class EmbeddingReadout(Readout):
    """Pools tokens into one vector a document. It has no parameters.

    A row is the chunk's own vector and the number of tokens in it. With `mean` and weights `tokens` the document's
    vector is the mean over its tokens; with `cls` it is the mean of the chunks' first states, by the tokens that each
    chunk answers for; with `max` the largest of each component.

    Args:
        width: D.
        pooling: see above.
        lead, trail: whether the tokens before the document's first and behind its last one count as well, as in
            sentence-transformers.
        weights: `tokens`: each token counts once; `chunks`: each chunk does, however short. Nothing to `max`.
        temperature: of the loss by which vectors are learned; nothing to the vectors themselves.
    """

    def __init__(
        self,
        width: int,
        pooling: EmbeddingPooling = "mean",
        lead: bool = False,
        trail: bool = False,
        weights: ChunkWeights = "tokens",
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.row_width = width + 1
        self.classes = width
        self.head = None
        self.lead, self.trail, self.weights, self.temperature = lead, trail, weights, temperature
        self._pooling = _POOLINGS[pooling]

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        chosen = batch.core | self._edges(batch)
        vectors = self._pooling.pool(exact(hidden), chosen, batch)
        return torch.cat([vectors, chosen.sum(1, keepdim=True).to(vectors.dtype)], dim=1)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """Rows (N, D + 1) -> vectors (B, D), not normalised; of a document without tokens zeros."""
        vectors, counts = rows[:, :-1], rows[:, -1].detach()
        silent = counts == 0
        if self._pooling.largest:
            found = segment_max(vectors.masked_fill(silent[:, None], -torch.inf), owner, documents)
            return found.masked_fill(found == -torch.inf, 0.0)
        heard = counts if self.weights == "tokens" else (~silent).to(counts.dtype)
        shares = chunk_shares(heard, owner, documents)[:, None]
        return segment_sum((shares * vectors).masked_fill(shares == 0, 0.0), owner, documents)

    def _edges(self, batch: ChunkBatch) -> Tensor:
        """bool (N, L): tokens that belong to no text, before the first and behind the last token of a document."""
        edges = np.zeros(batch.token_ids.shape, dtype=bool)
        for row, chunk in enumerate(batch.chunks):
            behind = chunk.lead + chunk.span.end - chunk.span.start
            edges[row, : chunk.lead] = self.lead and chunk.ordinal == 0
            edges[row, behind : len(chunk)] = self.trail and chunk.ordinal == chunk.total - 1
        return torch.from_numpy(edges).to(batch.core.device)


class EmbeddingReadoutConfig(ReadoutSettings):
    """A document's own vector, to be learned: what `longdoc embed` then gives for it, but for its length."""

    scored: ClassVar[Literal["documents", "tokens", "nothing"]] = "nothing"

    kind: Literal["embedding"] = "embedding"
    pooling: EmbeddingPooling | None = None
    """How states become a vector: `mean`, `max` or `cls`; null: as the checkpoint says, else `mean`."""
    temperature: float = Field(default=0.1, gt=0)
    """What cosines are divided by in the loss: the lower, the more the nearest others count."""

    def build(self, width: int, classes: int) -> EmbeddingReadout:
        """The readout for an encoder of `width`; there are no classes."""
        return EmbeddingReadout(width, self.pooling or "mean", lead=True, trail=True, temperature=self.temperature)

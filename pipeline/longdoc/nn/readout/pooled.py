"""Readouts whose rows are pooled vectors: one vector a chunk, made before anything is merged."""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.nn.exact import exact
from longdoc.nn.heads import LinearHead
from longdoc.nn.mergers import Merger
from longdoc.nn.pooling import POOLINGS, PoolingKind
from longdoc.nn.readout.base import DocumentReadout, ordinals_of
from longdoc.types import ChunkBatch

__all__ = ["PooledReadout"]


class PooledReadout(DocumentReadout):
    """Pool each chunk into a vector, its row; how documents are scored is left to the kind.

    A merger for which the order of chunks matters finds their numbers in one more column of the rows: rows then may
    travel and come home in any order.

    Args:
        width: D.
        pooling: how a chunk's states become one vector.
        merger: how a document's chunks become one.
        head: scores.
    """

    head: LinearHead

    def __init__(self, width: int, pooling: PoolingKind, merger: Merger, head: LinearHead) -> None:
        super().__init__()
        self.width = width
        self.row_width = width + merger.ordered
        self.classes = head.output.out_features
        self.learns_rows = not head.linear_rows
        self.pooling_kind = pooling
        self.pooling = POOLINGS[pooling]
        self.merger = merger
        self.places_rows = merger.ordered
        self.condenses = merger.associative and not merger.ordered
        self.head = head

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        vectors = self.head.rows(hidden, lambda states: self.pooling.pool(states, batch))
        if not self.merger.ordered:
            return vectors
        return torch.cat([vectors, ordinals_of(batch).to(vectors.dtype)[:, None]], dim=1)

    def row_recipe(self) -> str:
        return super().row_recipe() if self.learns_rows else f"{self.pooling_kind}{' numbered' * self.merger.ordered}"

    def merged(self, rows: Tensor, weights: Tensor) -> Tensor:
        """One document's rows (n, F), or what was made of them, as one (F,)."""
        owner = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        return self.merger(rows, owner, weights, 1)[0]  # type: ignore[no-any-return]

    def split(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Rows -> vectors (N, D), and the numbers of the chunks (N,) where the merger asks for them."""
        if not self.merger.ordered:
            return rows, None
        return rows[:, : self.width], rows[:, self.width].detach().round().to(torch.int64)

    def silenced(self, rows: Tensor, chosen: Tensor) -> Tensor:
        quiet = super().silenced(rows, chosen)
        return torch.cat([quiet[:, : self.width], rows[:, self.width :]], dim=1)  # a silent chunk keeps its number

    def token_contributions(self, hidden: Tensor, batch: ChunkBatch, slopes: Tensor, label: int) -> Tensor | None:
        shares = self.pooling.shares(hidden, batch) if self.head.linear_rows else None
        if shares is None:
            return None
        states = exact(hidden).masked_fill(~batch.core[..., None], 0.0)
        return (states * shares * slopes[:, None, : self.width]).sum(-1)

    def widened(self, slopes: Tensor) -> Tensor:
        """Slopes of the vectors as slopes of the rows: the number of a chunk gives nothing to a score."""
        return torch.nn.functional.pad(slopes, (0, self.row_width - self.width))

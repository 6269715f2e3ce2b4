"""The model: an encoder and a readout, in two halves with one seam.

Training calls both halves in one step; prediction calls the first for each batch and the second for each document
whose rows are complete. Same code, so what was trained is what is served.
"""

from __future__ import annotations

from torch import Tensor, nn

from longdoc.nn import Encoder
from longdoc.nn.readout import Readout
from longdoc.types import ChunkBatch

__all__ = ["LongDocModel", "hidden_states"]


def hidden_states(encoder: nn.Module, batch: ChunkBatch) -> Tensor:
    """The states of all tokens of a batch, (N, L, D)."""
    further = {"token_types": batch.token_types, "packing": batch.packing}
    given = {name: value for name, value in further.items() if value is not None}  # your own need not know of them
    return encoder(batch.token_ids, batch.valid, batch.positions, batch.segments, **given)  # type: ignore[no-any-return]


class LongDocModel(nn.Module):
    """Encoder and readout.

    Shape letters: N chunks, F width of a row, B documents, C classes.
    """

    def __init__(self, encoder: Encoder, readout: Readout) -> None:
        super().__init__()
        self.encoder = encoder
        self.readout = readout

    def hidden(self, batch: ChunkBatch) -> Tensor:
        """The states of all tokens, (N, L, D)."""
        return hidden_states(self.encoder, batch)

    def chunk_rows(self, batch: ChunkBatch) -> Tensor:
        """The first half: chunks -> one row each, (N, F), float32 or finer."""
        return self.readout.rows(self.hidden(batch), batch)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """The second half: all rows of whole documents -> scores, (B, C), float32 or finer.

        Args:
            rows: (N, F).
            owner: int64 (N,), the document of each row, in [0, documents).
            weights: (N,), core tokens of each chunk.
            documents: B.
        """
        return self.readout.documents(rows, owner, weights, documents)

    def forward(self, batch: ChunkBatch) -> Tensor:
        """Both halves, for a batch that holds every chunk of its documents: (B, C)."""
        return self.documents(self.chunk_rows(batch), batch.owner, batch.weights, batch.documents)

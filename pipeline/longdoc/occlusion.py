"""What becomes of a score when a passage is taken away: the check of what evidence claims.

A passage is taken away by hiding it: no token attends to it, in any chunk that shows it, and its own states are zeros,
the silence from which contributions are counted. Everything else stays as it is: places, lengths, the other chunks.
Where contributions are those of chunks as a whole (`cls` pooling, a pooler), the row of the chunk is silent.

A contribution takes the context of the other tokens and the weights of attention as they are. What is measured here
does not, so the two differ, by as much as the model looks elsewhere when a passage is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from longdoc.lanes import in_lanes
from longdoc.model import LongDocModel
from longdoc.nn.position.counting import count_positions
from longdoc.nn.readout import DocumentReadout
from longdoc.precision import Placement
from longdoc.text.batching import BatchingConfig, PlannedBatch, collate_planned, plan_batches
from longdoc.types import Chunk, ChunkBatch, Occlusion, Span

__all__ = ["ROUND_OFF", "TOLERANCE", "ChunkReader", "occlusion_of", "score_without"]

TOLERANCE = 0.25
"""A claim holds when the score moves by it within this share of it ..."""
ROUND_OFF = 1e-3
"""... and so much more, in logit space."""


@dataclass(frozen=True)
class ChunkReader:
    """The chunks of one document, encoded whenever they are asked for.

    Attributes:
        model: encoder and readout.
        chunks: all of the document, in the order of its text.
        size: tokens of a chunk, for the shapes of batches.
        pad_id: fills batches up.
        batching, placement: of the pipeline.
    """

    model: LongDocModel
    chunks: Sequence[Chunk]
    size: int
    pad_id: int
    batching: BatchingConfig
    placement: Placement

    @property
    def weights(self) -> torch.Tensor:
        """(N,): core tokens of each chunk."""
        return torch.tensor([float(chunk.core.end - chunk.core.start) for chunk in self.chunks])

    def batches(self, hidden: Span | None = None) -> Iterator[tuple[list[int], ChunkBatch, torch.Tensor]]:
        """Batches of the same shapes as in prediction, hence the same bits: chunk numbers, batch, states (N, L, D).

        Args:
            hidden: tokens of the document that nobody sees and whose states are zeros; only chunks that show some of
                them are read then.
        """
        shown = [pair for pair in enumerate(self.chunks) if hidden is None or _overlap(pair[1].span, hidden)]

        def work(planned: PlannedBatch) -> tuple[list[int], ChunkBatch, torch.Tensor]:
            batch = collate_planned(planned, self.pad_id, self.placement.packs and hidden is None)
            batch = batch.to(self.placement.device)
            valid, positions = batch.valid, batch.positions
            with self.placement.inference():
                if hidden is None:
                    return list(planned.owners), batch, self.model.hidden(batch)
                away = _places(planned.chunks, hidden, batch)
                if positions is None:
                    positions = count_positions(batch.token_ids, valid, batch.segments)
                valid = ~away if valid is None else valid & ~away
                states = self.model.hidden(replace(batch, valid=valid, positions=positions))
                return list(planned.owners), batch, states.masked_fill(away[..., None], 0.0)

        planned = plan_batches(shown, self.size, self.batching, device=self.placement.device.type)
        yield from in_lanes(work, planned, self.placement.lanes, self.placement.device)

    def rows(self, readout: DocumentReadout, hidden: Span | None = None) -> tuple[list[int], torch.Tensor]:
        """Numbers of chunks and their rows (K, F), float32, on the CPU: of all, or of those that show hidden tokens."""
        numbers: list[int] = []
        made = [torch.zeros(0, readout.row_width)]
        for members, batch, states in self.batches(hidden):
            with torch.inference_mode():
                made.append(readout.rows(states, batch)[: len(members)].float().cpu())
            numbers += members
        return numbers, torch.cat(made)


def score_without(
    reader: ChunkReader, readout: DocumentReadout, rows: torch.Tensor, hidden: Span, label: int, whole_chunks: bool
) -> float:
    """The score of a document that says nothing in one place.

    Args:
        reader: of its chunks.
        readout: of the model, in evaluation mode.
        rows: (N, F), of its chunks as they are, on the CPU.
        hidden: tokens of the document.
        label: number of the label.
        whole_chunks: whether the row of a chunk all of whose core tokens are hidden is silence itself.
    """
    numbers, changed = reader.rows(readout, hidden)
    rows = rows.clone()
    rows[numbers] = changed
    if whole_chunks:
        silent = [hidden.start <= c.core.start < c.core.end <= hidden.end for c in reader.chunks]
        rows = readout.silenced(rows, torch.tensor(silent))
    device = reader.placement.device
    with torch.inference_mode():
        owner = torch.zeros(len(rows), dtype=torch.int64, device=device)
        return float(readout.documents(rows.to(device), owner, reader.weights.to(device), 1)[0, label])


def occlusion_of(claimed: float, measured: float) -> Occlusion:
    """The two numbers and whether the second is the first, within `TOLERANCE` of it and `ROUND_OFF`."""
    return Occlusion(claimed, measured, abs(claimed - measured) <= TOLERANCE * abs(claimed) + ROUND_OFF)


def _overlap(left: Span, right: Span) -> bool:
    return left.start < right.end and right.start < left.end


def _places(chunks: Sequence[Chunk], hidden: Span, batch: ChunkBatch) -> torch.Tensor:
    """bool (N, L): where the tokens of the document that are hidden stand in a batch."""
    away = torch.zeros(batch.token_ids.shape, dtype=torch.bool)
    for row, chunk in enumerate(chunks):
        first = max(hidden.start, chunk.span.start) - chunk.span.start
        last = min(hidden.end, chunk.span.end) - chunk.span.start
        away[row, chunk.lead + first : chunk.lead + max(first, last)] = True
    return away.to(batch.token_ids.device)

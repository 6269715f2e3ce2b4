"""Chunks in, rows out: the one place where batches meet the model while predicting.

A batch that does not fit in memory is halved and tried again; a chunk that cannot be encoded at all makes its own
document fail and nobody else's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch

from longdoc.errors import FailureReason
from longdoc.lanes import in_lanes
from longdoc.precision import Placement
from longdoc.text.batching import PlannedBatch, collate_planned
from longdoc.types import Chunk, ChunkBatch

__all__ = ["ChunkRow", "RowModel", "encode_batch", "encode_batches"]


class RowModel(Protocol):
    """What gives a row a chunk: the first half of a model."""

    def chunk_rows(self, batch: ChunkBatch) -> torch.Tensor:
        """(N, F), float32 or finer."""
        ...


@dataclass(frozen=True)
class ChunkRow:
    """The row of one chunk, or the reason why it has none.

    Attributes:
        owner: the caller's number of the document.
        chunk: the chunk.
        row: float32 (F,) on the CPU, or None.
        weight: core tokens of the chunk.
        reason, error: one word of the closed list and the exception's class name, where `row` is None.
    """

    owner: int
    chunk: Chunk
    row: torch.Tensor | None
    weight: float
    reason: FailureReason | None = None
    error: str = ""


def encode_batch(model: RowModel, planned: PlannedBatch, pad_id: int, placement: Placement) -> Iterator[ChunkRow]:
    """Rows of all chunks of a planned batch, in its order; none for an empty one. Never raises for a bad chunk."""
    if not planned.chunks:
        return
    try:
        rows = _rows(model, planned, pad_id, placement)
    except Exception as error:
        yield from _after_fault(model, planned, pad_id, placement, error)
        return
    for owner, chunk, row in zip(planned.owners, planned.chunks, rows, strict=True):
        weight = float(chunk.core.end - chunk.core.start)
        if bool(torch.isfinite(row).all()):
            yield ChunkRow(owner, chunk, row, weight)
        else:
            yield ChunkRow(owner, chunk, None, weight, "non_finite_output")


def encode_batches(
    model: RowModel, batches: Iterable[PlannedBatch], pad_id: int, placement: Placement
) -> Iterator[list[ChunkRow]]:
    """`encode_batch` for many batches, in their order.

    On a CPU several batches are under way at once, each in a thread with one core of its own; on a GPU two: while one
    is computed, the other is put together and sent. A batch that is alone gets all cores, where its bits may differ.
    """

    def work(planned: PlannedBatch) -> list[ChunkRow]:
        return list(encode_batch(model, planned, pad_id, placement))

    waiting = iter(batches)
    first = list(itertools.islice(waiting, 2))
    alone = len(first) < 2 and not any(planned.is_fixed for planned in first)
    if alone or (placement.lanes == 1 and placement.device.type != "cpu"):
        yield from map(work, itertools.chain(first, waiting))
    else:
        yield from in_lanes(work, itertools.chain(first, waiting), placement.lanes, placement.device)


def _rows(model: RowModel, planned: PlannedBatch, pad_id: int, placement: Placement) -> torch.Tensor:
    """float32 (len(chunks), F) on the CPU."""
    batch = collate_planned(planned, pad_id, placement.packs)
    with placement.inference():
        return model.chunk_rows(batch.to(placement.device))[: len(planned.chunks)].float().cpu()


def _after_fault(
    model: RowModel, planned: PlannedBatch, pad_id: int, placement: Placement, error: Exception
) -> Iterator[ChunkRow]:
    """Halve the batch until it fits; a batch of one chunk that still fails is that chunk's failure."""
    count = len(planned.chunks)
    if count == 1 and planned.rows == 1:
        weight = float(planned.chunks[0].core.end - planned.chunks[0].core.start)
        yield ChunkRow(planned.owners[0], planned.chunks[0], None, weight, _reason(error), type(error).__name__)
        return
    if placement.device.type == "cuda":
        torch.cuda.empty_cache()
    middle = max(1, count // 2)
    for part in (slice(0, middle), slice(middle, count)):
        chunks = planned.chunks[part]
        if chunks:
            half = PlannedBatch(chunks, planned.owners[part], rows=len(chunks), length=planned.length)
            yield from encode_batch(model, half, pad_id, placement)


def _reason(error: Exception) -> FailureReason:
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "not enough memory" in str(error):
        return "memory_limit"
    return "unreadable"

"""One micro-batch forth and back on this machine: what a run will need in time and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from longdoc.errors import LongDocError
from longdoc.model import LongDocModel
from longdoc.precision import Placement
from longdoc.text.batching import collate
from longdoc.training.steps import is_out_of_memory
from longdoc.types import Chunk, ChunkBatch

__all__ = ["Trial", "try_micro_batch"]


@dataclass(frozen=True)
class Trial:
    """What a micro-batch has shown.

    Attributes:
        tokens: that fit into memory with their gradients, at most those that were asked for.
        forth: seconds of a token, forth alone.
        back_too: seconds of a token, forth and back; as `forth` where nothing learns.
        peak_bytes: of the device's memory at its peak; on the CPU of this process.
    """

    tokens: int
    forth: float
    back_too: float
    peak_bytes: int


def try_micro_batch(
    model: LongDocModel,
    chunks: Sequence[Chunk],
    tokens: int,
    pad_id: int,
    placement: Placement,
    clock: Callable[[], float] = time.perf_counter,
) -> Trial:
    """Encode chunks and go back through them, first one to warm up, then so many as are in memory at once.

    No weight changes. Where they do not fit, half of them is tried, as a run would.

    Args:
        model: on its device; gradients are those of before afterwards, none.
        chunks: of documents that will be learned from, the longest ones; at least one.
        tokens: `training.micro_batch_tokens`.

    Raises:
        LongDocError: not even one chunk fits.
    """
    widest = max(map(len, chunks))
    model.train()

    def batch(size: int) -> ChunkBatch:
        taken = list(chunks[: max(1, size // widest)])
        return collate(taken, [0] * len(taken), 1, pad_id).to(placement.device)

    def seconds(given: ChunkBatch, learning: bool) -> float:
        start = clock()
        with torch.set_grad_enabled(learning):
            with placement.autocast():
                rows = model.chunk_rows(given)
            if rows.requires_grad:
                torch.autograd.backward(rows.sum())
        if placement.device.type == "cuda":
            torch.cuda.synchronize(placement.device)
        return clock() - start

    with torch.random.fork_rng(devices=[]):
        while True:
            given = batch(tokens)
            try:
                seconds(batch(1), True)
                back_too = seconds(given, True)
                break
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            if len(given.chunks) == 1:
                raise LongDocError(
                    f"one chunk of {widest} tokens does not fit into memory. Lower `chunking.size`, or free memory."
                )
            tokens = tokens // 2
        peak = _peak(placement.device)
        forth = seconds(given, False)
    model.zero_grad(set_to_none=True)
    computed = given.token_ids.numel()
    return Trial(tokens, forth / computed, back_too / computed, peak)


def _peak(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

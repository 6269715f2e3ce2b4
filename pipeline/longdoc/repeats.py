"""Chunks that stand in a corpus more than once are encoded once: letterheads, annexes, the same document again.

A row depends on nothing but what is in the key here, to the last bit where batches have fixed shapes; so a row that is
taken again is the row that would have been computed.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from longdoc.encoding import ChunkRow
from longdoc.types import Chunk

__all__ = ["ROW_BYTES", "ChunkMemory", "RepeatCount"]

REMEMBERED_BYTES = 64 * 2**20
"""Of rows; the ones that were not asked for the longest are forgotten first."""

ROW_BYTES = 1024
"""What a remembered row takes beside its numbers: a tensor and its key are some 900 bytes, a row of two scores is 8."""


@dataclass
class RepeatCount:
    """How much was saved.

    Attributes:
        chunks, tokens: all that were asked for.
        repeated_chunks, repeated_tokens: those among them that were not encoded again.
    """

    chunks: int = 0
    tokens: int = 0
    repeated_chunks: int = 0
    repeated_tokens: int = 0

    def __add__(self, other: RepeatCount) -> RepeatCount:
        return RepeatCount(
            self.chunks + other.chunks,
            self.tokens + other.tokens,
            self.repeated_chunks + other.repeated_chunks,
            self.repeated_tokens + other.repeated_tokens,
        )

    def __iadd__(self, other: RepeatCount) -> RepeatCount:
        """Adds to this very object, which several memories may share."""
        total = self + other
        self.chunks, self.tokens = total.chunks, total.tokens
        self.repeated_chunks, self.repeated_tokens = total.repeated_chunks, total.repeated_tokens
        return self


class ChunkMemory:
    """Which chunks were met before, and the rows of the latest of them.

    Good for one model whose weights do not change meanwhile, and for one thread.

    Args:
        by_place: rows depend on where in its document a chunk stands, so that only chunks with the same number of as
            many are alike.
        bytes_kept: rows are kept up to this size, all that they take counted.
        total: of several memories, to which this one adds, too.

    Attributes:
        count: what was saved so far, in all walks.
    """

    def __init__(self, by_place: bool, bytes_kept: int = REMEMBERED_BYTES, total: RepeatCount | None = None) -> None:
        self._by_place = by_place
        self._most, self._held = bytes_kept, 0
        self._rows: OrderedDict[bytes, torch.Tensor] = OrderedDict()  # no chunk: it holds on to its document's tokens
        self._under_way: dict[bytes, list[tuple[int, Chunk]]] = {}
        self.count = RepeatCount()
        self._total = RepeatCount() if total is None else total

    def begin(self) -> None:
        """Forget what was under way: a walk that was given up never brings it home."""
        self._under_way.clear()

    def known(self, owner: int, chunk: Chunk) -> ChunkRow | None:
        """The row of a chunk that was met before, as that of this one; None = it must be encoded."""
        found = self._rows.get(key := self._key(chunk))
        if found is None:
            return None
        self._rows.move_to_end(key)
        self._count(chunk, repeated=True)
        return ChunkRow(owner, chunk, found, _weight(chunk))

    def waits(self, owner: int, chunk: Chunk) -> bool:
        """Whether a chunk like this one is being encoded, so that `home` will answer for this one too.

        False = this one is the first: it must be encoded, and `home` be called with its row.
        """
        waiting = self._under_way.get(key := self._key(chunk))
        self._count(chunk, repeated=waiting is not None)
        if waiting is None:
            self._under_way[key] = []
            return False
        waiting.append((owner, chunk))
        return True

    def home(self, row: ChunkRow) -> Iterator[ChunkRow]:
        """A row that was computed -> it, and the same for all that waited. A failure is theirs, too."""
        yield row
        key = self._key(row.chunk)
        for owner, chunk in self._under_way.pop(key, ()):
            yield ChunkRow(owner, chunk, row.row, _weight(chunk), row.reason, row.error)
        if row.row is not None and key not in self._rows:
            self._rows[key] = row.row.clone()  # not a view, which would hold on to all rows of its batch
            self._held += row.row.nbytes + ROW_BYTES
            while self._held > self._most:
                self._held -= self._rows.popitem(last=False)[1].nbytes + ROW_BYTES

    def _key(self, chunk: Chunk) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        start = chunk.span.start
        places = (chunk.lead, chunk.span.end - start, chunk.core.start - start, chunk.core.end - start)
        digest.update(repr((places, (chunk.ordinal, chunk.total) if self._by_place else ())).encode())
        for array in (chunk.token_ids, chunk.axes, chunk.token_types):
            digest.update(b"|" if array is None else repr(array.shape).encode() + array.tobytes())
        return digest.digest()

    def _count(self, chunk: Chunk, repeated: bool) -> None:
        one = RepeatCount(1, len(chunk), int(repeated), len(chunk) * repeated)
        self.count += one
        self._total += one


def _weight(chunk: Chunk) -> float:
    return float(chunk.core.end - chunk.core.start)

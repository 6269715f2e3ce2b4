"""Chunks that stand in a corpus more than once are encoded once: letterheads, annexes, the same document again.

A row depends on nothing but what is in the key here, to the last bit where batches have fixed shapes; so a row that is
taken again is the row that would have been computed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from longdoc.encoding import ChunkRow
from longdoc.types import Chunk

__all__ = ["ROW_BYTES", "ChunkMemory", "ChunkWalk", "RepeatCount"]

REMEMBERED_BYTES = 64 * 2**20
"""Of rows; the ones that were not asked for the longest are forgotten first."""

ROW_BYTES = 512
"""What a remembered row takes beside its numbers: its key and the places in two tables."""

_counting = threading.Lock()

_PIECE_BYTES = 2**20
"""Rows are kept in pieces of memory of about this size."""


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

    Good for one model whose weights do not change meanwhile. Several walks over documents may be under way at once, in
    one thread or in several.

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
        # No chunk is kept: it holds on to its document's tokens.
        self._rows: OrderedDict[bytes, tuple[_Shelf, int]] = OrderedDict()
        self._shelves: dict[tuple[object, ...], _Shelf] = {}
        self.count = RepeatCount()
        self._total = RepeatCount() if total is None else total
        self._turn = threading.Lock()

    def begin(self) -> ChunkWalk:
        """A walk over documents: what is under way in one walk is no other's, and goes when the walk is given up."""
        return ChunkWalk(self)

    def row(self, key: bytes) -> torch.Tensor | None:
        """The row of a chunk that was met before, None = it must be encoded."""
        with self._turn:
            found = self._rows.get(key)
            if found is None:
                return None
            self._rows.move_to_end(key)
            shelf, place = found
            return shelf.row(place)

    def keep(self, key: bytes, row: torch.Tensor) -> None:
        """Remember the row of a chunk."""
        with self._turn:
            if key not in self._rows:
                self._keep(key, row)

    def _keep(self, key: bytes, row: torch.Tensor) -> None:
        kind = (row.shape, row.dtype, row.device)
        if kind not in self._shelves:
            self._shelves[kind] = _Shelf(row)
        shelf = self._shelves[kind]
        self._held += shelf.row_bytes
        while self._held > self._most and self._rows:
            other, place = self._rows.popitem(last=False)[1]
            other.clear(place)
            self._held -= other.row_bytes
        if self._held > self._most:
            self._held -= shelf.row_bytes
        else:
            self._rows[key] = shelf, shelf.put(row)

    def key(self, chunk: Chunk) -> bytes:
        """The same for chunks that have the same row."""
        digest = hashlib.blake2b(digest_size=16)
        start = chunk.span.start
        places = (chunk.lead, chunk.span.end - start, chunk.core.start - start, chunk.core.end - start)
        digest.update(repr((places, (chunk.ordinal, chunk.total) if self._by_place else ())).encode())
        for array in (chunk.token_ids, chunk.axes, chunk.token_types):
            digest.update(b"|" if array is None else repr(array.shape).encode() + array.tobytes())
        return digest.digest()

    def add(self, chunk: Chunk, repeated: bool) -> None:
        """Count a chunk that was asked for."""
        one = RepeatCount(1, len(chunk), int(repeated), len(chunk) * repeated)
        with _counting:  # several memories may add to one total
            self.count += one
            self._total += one


class ChunkWalk:
    """One walk over documents with a memory that other walks share. Good for one thread."""

    def __init__(self, memory: ChunkMemory) -> None:
        self._memory = memory
        self._under_way: dict[bytes, list[tuple[int, Chunk]]] = {}

    def known(self, owner: int, chunk: Chunk) -> ChunkRow | None:
        """The row of a chunk that was met before, as that of this one; None = it must be encoded."""
        row = self._memory.row(self._memory.key(chunk))
        if row is None:
            return None
        self._memory.add(chunk, repeated=True)
        return ChunkRow(owner, chunk, row, _weight(chunk))

    def waits(self, owner: int, chunk: Chunk) -> bool:
        """Whether a chunk like this one is being encoded, so that `home` will answer for this one too.

        False = this one is the first: it must be encoded, and `home` be called with its row.
        """
        waiting = self._under_way.get(key := self._memory.key(chunk))
        self._memory.add(chunk, repeated=waiting is not None)
        if waiting is None:
            self._under_way[key] = []
            return False
        waiting.append((owner, chunk))
        return True

    def home(self, row: ChunkRow) -> Iterator[ChunkRow]:
        """A row that was computed -> it, and the same for all that waited. A failure is theirs, too."""
        yield row
        key = self._memory.key(row.chunk)
        for owner, chunk in self._under_way.pop(key, ()):
            yield ChunkRow(owner, chunk, row.row, _weight(chunk), row.reason, row.error)
        if row.row is not None:
            self._memory.keep(key, row.row)


class _Shelf:
    """Rows of one kind, one beside the other in large pieces of memory.

    Tensors of their own would lie between those of the batches, live longer, and keep the allocator from giving back
    what lies around them: for rows of 8 bytes some 20,000 each were measured.

    Args:
        like: a row of the kind.

    Attributes:
        row_bytes: what one row takes, all counted.
    """

    def __init__(self, like: torch.Tensor) -> None:
        self._like = like.detach().clone()
        self._rows_a_piece = max(1, _PIECE_BYTES // max(1, like.nbytes))
        self._pieces: list[torch.Tensor] = []
        self._free: list[int] = []  # places that were cleared
        self._used = 0  # places that were ever taken
        self.row_bytes = like.nbytes + ROW_BYTES

    def put(self, row: torch.Tensor) -> int:
        """Keep a row; returns its place."""
        if self._free:
            place = self._free.pop()
        else:
            place = self._used
            self._used += 1
            if place == len(self._pieces) * self._rows_a_piece:
                self._pieces.append(self._like.new_empty((self._rows_a_piece, *self._like.shape)))
        piece, number = divmod(place, self._rows_a_piece)
        self._pieces[piece][number] = row
        return place

    def row(self, place: int) -> torch.Tensor:
        """A copy of the row at a place."""
        piece, number = divmod(place, self._rows_a_piece)
        return self._pieces[piece][number].clone()

    def clear(self, place: int) -> None:
        """Let the place be taken by another row."""
        self._free.append(place)


def _weight(chunk: Chunk) -> float:
    return float(chunk.core.end - chunk.core.start)

"""From the chunks of many documents to batches for the encoder.

Two modes. Deterministic: a batch's shape depends on nothing but the lengths of the chunks in it, which fall into few
fixed shapes, so the numbers of a chunk are the same bits whatever stands beside it. Free: chunks of equal length side
by side with as little padding as possible; numbers then agree to rounding only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import Field

from longdoc.errors import UsageError
from longdoc.schema import Config
from longdoc.types import Chunk, ChunkBatch, Span

__all__ = ["BatchingConfig", "PlannedBatch", "buckets", "collate", "collate_planned", "plan_batches"]

SMALLEST_BUCKET = 32
"""Shorter chunks are padded to this length."""


class Amounts(NamedTuple):
    """How many tokens stand together.

    Attributes:
        tokens: of a batch in the free mode.
        fixed_tokens: of a batch of fixed shape. A batch that is not full is filled up with rows whose output is thrown
            away: few on a CPU, where one chunk keeps a core busy; on a GPU so many that starting a product takes no
            longer than the product.
        read_ahead: that are looked ahead, so that fewer batches are filled up.
    """

    tokens: int
    fixed_tokens: int
    read_ahead: int


ON_CPU = Amounts(tokens=2048, fixed_tokens=256, read_ahead=65536)
ON_GPU = Amounts(tokens=65536, fixed_tokens=16384, read_ahead=1 << 20)

MANY_ROWS = 16
"""So many rows of one length fill a batch often enough that more lengths pay."""

FINEST_STEP = 16
"""Lengths of which one row is a batch lie this close, and a 16th to a 32nd of themselves apart where they are long:
nothing is filled up there, so that many of them cost nothing, and the less is padded."""


class BatchingConfig(Config):
    """How chunks are put side by side."""

    tokens: int | None = Field(default=None, ge=1)
    """Tokens of a batch, padding included, in the free mode; a longer chunk is a batch of its own. None: 2,048 on a
    CPU, 65,536 on a GPU."""
    fixed_tokens: int | None = Field(default=None, ge=1)
    """Tokens of a batch in the deterministic mode, or one row where a chunk is longer. Results with different numbers
    agree to rounding only. None: 256 on a CPU, 16,384 on a GPU."""
    read_ahead: int | None = Field(default=None, ge=1)
    """Tokens that are looked ahead for chunks of like length. None: 65,536 on a CPU, 1,048,576 on a GPU."""
    deterministic: bool = True
    """Fixed shapes, so that results are bit-identical whatever stands beside a chunk."""
    reuse_repeats: bool = True
    """Encode a chunk that stands in the documents more than once only once. In the deterministic mode alone, where the
    results are the same bits."""

    def amounts(self, device: str = "cpu") -> Amounts:
        """What is asked for, and for a type of device (`cpu`, `cuda`) what is not."""
        usual = ON_CPU if device == "cpu" else ON_GPU
        return Amounts(
            self.tokens or usual.tokens,
            self.fixed_tokens or usual.fixed_tokens,
            self.read_ahead or usual.read_ahead,
        )


@dataclass(frozen=True, slots=True, repr=False)
class PlannedBatch:
    """Chunks to be encoded together.

    Attributes:
        chunks: at most `rows` of them.
        owners: for each chunk the caller's key of its document.
        rows, length: shape of the batch; rows without a chunk are filler.
        is_fixed: whether the numbers of a chunk must not depend on what stands beside it.
    """

    chunks: tuple[Chunk, ...]
    owners: tuple[int, ...]
    rows: int
    length: int
    is_fixed: bool = False

    def __repr__(self) -> str:
        return f"PlannedBatch(chunks={len(self.chunks)}, rows={self.rows}, length={self.length})"


_Pair = tuple[int, Chunk]


def buckets(size: int, fixed_tokens: int = ON_CPU.fixed_tokens) -> list[int]:
    """The lengths of batches of `fixed_tokens` for chunks of up to `size` tokens, longest first.

    Close to each other where one row is a batch; below, where several rows share one, halves down to
    `SMALLEST_BUCKET`: finer steps leave more batches to fill up, coarser ones more padding. Where many rows share one,
    three quarters stand between the halves.
    """
    shared = fixed_tokens // 2
    halves = [shared >> k for k in range(shared.bit_length())]
    between = [length * 3 // 4 for length in halves if length * MANY_ROWS <= fixed_tokens]
    lengths = {size, *(length for length in (*halves, *between) if length >= SMALLEST_BUCKET)}
    length = max(shared, 1)
    while length < size:
        lengths.add(length)
        length += max(FINEST_STEP, 1 << length.bit_length() >> 5)
    return sorted((length for length in lengths if length <= size), reverse=True)


def plan_batches(
    pairs: Iterable[_Pair],
    size: int,
    settings: BatchingConfig,
    met: Callable[[int, Chunk], bool] = lambda owner, chunk: False,
    device: str = "cpu",
) -> Iterator[PlannedBatch]:
    """Batches of chunks, each chunk in exactly one.

    Chunks are read until there are `read_ahead` tokens, all of them are put into batches, and only then are further
    ones read: memory is bounded and documents finish.

    Args:
        pairs: the caller's key of a document, and a chunk of it.
        size: tokens that a chunk may have.
        settings: the mode and its numbers.
        met: whether a chunk need not be encoded. Such chunks are left out; where none is left of all that were read,
            an empty batch gives the caller its turn.
        device: type of the device, which says how many tokens stand together where `settings` do not.

    Raises:
        UsageError: a chunk has more than `size` tokens.
    """
    arrange = _fixed_shapes if settings.deterministic else _by_length
    amounts = settings.amounts(device)
    for ahead in _read_ahead(pairs, size, amounts.read_ahead):
        if fresh := [pair for pair in ahead if not met(*pair)]:
            yield from arrange(fresh, size, amounts)
        else:
            yield PlannedBatch((), (), 0, 0)


def _read_ahead(pairs: Iterable[_Pair], size: int, tokens: int) -> Iterator[list[_Pair]]:
    held: list[_Pair] = []
    total = 0
    for owner, chunk in pairs:
        if len(chunk) > size:
            raise UsageError(
                f"`size` must be at least the length of every chunk, but is {size} for one of {len(chunk)}."
            )
        held.append((owner, chunk))
        total += len(chunk)
        if total >= tokens:
            yield held
            held, total = [], 0
    if held:
        yield held


def _fixed_shapes(pairs: list[_Pair], size: int, amounts: Amounts) -> Iterator[PlannedBatch]:
    lengths = buckets(size, amounts.fixed_tokens)
    # Chunks that fill their row stand apart: without padding there is no mask, and another kernel may run.
    alike: defaultdict[tuple[int, bool], list[_Pair]] = defaultdict(list)
    for owner, chunk in pairs:
        length = min(bucket for bucket in lengths if bucket >= len(chunk))
        alike[length, len(chunk) == length].append((owner, chunk))
    for (length, _), members in sorted(alike.items(), key=lambda item: item[0], reverse=True):
        rows = max(1, amounts.fixed_tokens // length)
        for first in range(0, len(members), rows):
            yield _planned(members[first : first + rows], rows, length, is_fixed=True)


def _by_length(pairs: list[_Pair], size: int, amounts: Amounts) -> Iterator[PlannedBatch]:
    longest_first = sorted(pairs, key=lambda pair: -len(pair[1]))
    first = 0
    while first < len(longest_first):
        length = len(longest_first[first][1])
        members = longest_first[first : first + max(1, amounts.tokens // length)]
        yield _planned(members, len(members), length)
        first += len(members)


def _planned(pairs: Sequence[_Pair], rows: int, length: int, is_fixed: bool = False) -> PlannedBatch:
    owners, chunks = zip(*pairs, strict=True)
    return PlannedBatch(chunks, owners, rows, length, is_fixed)


def collate_planned(planned: PlannedBatch, pad_id: int, packs: bool) -> ChunkBatch:
    """The tensors of a planned batch, each chunk a document of its own.

    Args:
        planned: at least one chunk.
        pad_id: as in `collate`.
        packs: whether to say, beside the mask, where each row begins and ends.
    """
    count = len(planned.chunks)
    batch = collate(planned.chunks, range(count), count, pad_id, rows=planned.rows, length=planned.length)
    if not packs:
        return batch
    from longdoc.packing import Packing

    lengths = [len(chunk) for chunk in planned.chunks]
    return replace(batch, packing=Packing.of(lengths, planned.rows, planned.length, planned.is_fixed))


def collate(
    chunks: Sequence[Chunk],
    owners: Sequence[int],
    documents: int,
    pad_id: int,
    rows: int | None = None,
    length: int | None = None,
) -> ChunkBatch:
    """The tensors of a batch.

    Args:
        chunks: one row each, n of them.
        owners: for each chunk which document of the batch it belongs to, in [0, documents).
        documents: number of documents B.
        pad_id: the id behind the end of a chunk, and in filler rows.
        rows: N; rows past n are filler: read by the encoder like a chunk without padding, but outside body and core,
            with weight 0 and owner 0. None = n.
        length: L; None = that of the longest chunk.

    Raises:
        UsageError: the chunks do not fit into (rows, length), or an owner is out of its bounds.
    """
    import torch  # two seconds; planning and counting do without it

    lengths = [len(chunk) for chunk in chunks]
    rows = len(chunks) if rows is None else rows
    length = max(lengths, default=0) if length is None else length
    _check_shape(lengths, owners, documents, rows, length)
    token_ids = np.full((rows, length), pad_id, dtype=np.int64)
    for row, chunk in enumerate(chunks):
        token_ids[row, : len(chunk)] = chunk.token_ids
    cores = [chunk.core.end - chunk.core.start for chunk in chunks]
    padded = any(chunk_length < length for chunk_length in lengths)
    return ChunkBatch(
        token_ids=torch.from_numpy(token_ids),
        valid=torch.from_numpy(_ranges([(0, n) for n in lengths], rows, length, filler=length)) if padded else None,
        body=torch.from_numpy(_ranges([_in_row(chunk, chunk.span) for chunk in chunks], rows, length)),
        core=torch.from_numpy(_ranges([_in_row(chunk, chunk.core) for chunk in chunks], rows, length)),
        owner=torch.from_numpy(_filled(owners, rows, np.int64)),
        weights=torch.from_numpy(_filled(cores, rows, np.float32)),
        ordinals=torch.from_numpy(_filled([chunk.ordinal for chunk in chunks], rows, np.int64)),
        documents=documents,
        chunks=tuple(chunks),
        positions=_positions(chunks, rows, length),
        token_types=_token_types(chunks, rows, length),
    )


def _positions(chunks: Sequence[Chunk], rows: int, length: int) -> Any:
    """int64 (1 + axes, rows, length), the reading order first; None where tokens know their order alone."""
    import torch

    axes = max((0 if chunk.axes is None else len(chunk.axes) for chunk in chunks), default=0)
    if not axes:
        return None
    positions = np.zeros((1 + axes, rows, length), dtype=np.int64)
    positions[0] = np.arange(length)
    for row, chunk in enumerate(chunks):
        if chunk.axes is not None:
            positions[1:, row, : len(chunk)] = chunk.axes
    return torch.from_numpy(positions)


def _token_types(chunks: Sequence[Chunk], rows: int, length: int) -> Any:
    """int64 (rows, length), 0 in padding and filler; None where all tokens are of one type."""
    import torch

    if all(chunk.token_types is None for chunk in chunks):
        return None
    types = np.zeros((rows, length), dtype=np.int64)
    for row, chunk in enumerate(chunks):
        if chunk.token_types is not None:
            types[row, : len(chunk)] = chunk.token_types
    return torch.from_numpy(types)


def _in_row(chunk: Chunk, tokens: Span) -> tuple[int, int]:
    """Columns of a row in which a range of the document's tokens stands."""
    shift = chunk.lead - chunk.span.start
    return tokens.start + shift, tokens.end + shift


def _ranges(bounds: Sequence[tuple[int, int]], rows: int, length: int, filler: int = 0) -> NDArray[np.bool_]:
    """(rows, length), True within the bounds of a row, and in the first `filler` columns of rows without any."""
    edges = np.array([*bounds, *[(0, filler)] * (rows - len(bounds))], dtype=np.int64).reshape(rows, 2)
    columns = np.arange(length)
    return (columns >= edges[:, :1]) & (columns < edges[:, 1:])


def _filled(values: Sequence[int], rows: int, dtype: DTypeLike) -> NDArray[Any]:
    return np.array([*values, *[0] * (rows - len(values))], dtype=dtype)


def _check_shape(lengths: Sequence[int], owners: Sequence[int], documents: int, rows: int, length: int) -> None:
    longest = max(lengths, default=0)
    if rows < max(1, len(lengths)):
        raise UsageError(f"`rows` must be at least 1 and the number of chunks ({len(lengths)}), but is {rows} instead.")
    if length < max(1, longest):
        raise UsageError(
            f"`length` must be at least 1 and that of the longest chunk ({longest}), but is {length} instead."
        )
    if len(owners) != len(lengths):
        raise UsageError(f"`owners` must have one entry a chunk ({len(lengths)}), but has {len(owners)} instead.")
    if outside := [owner for owner in owners if not 0 <= owner < documents]:
        raise UsageError(f"`owners` must be in [0, {documents}), but one is {outside[0]} instead.")

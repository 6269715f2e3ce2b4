"""Planning of batches, and the tensors of one batch against a slow loop."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.text.batching import BatchingConfig, PlannedBatch, buckets, collate, plan_batches
from longdoc.text.chunking import Chunker
from longdoc.types import Chunk, ChunkBatch, Span, TokenizedDocument

PAD = 7


def chunk_of(length: int, identity: str = "d") -> Chunk:
    """One chunk with `length` tokens, two of them special."""
    ids = np.arange(length, dtype=np.int32) + 1000
    return Chunk(identity, 0, 1, Span(0, length - 2), Span(0, length - 2), ids, 1)


def chunks_of(n_tokens: int, size: int = 16, overlap: int = 4, identity: str = "d") -> list[Chunk]:
    places = np.arange(n_tokens, dtype=np.int32)
    offsets = np.stack([places, places + 1], axis=1)
    return Chunker(size, overlap, [1], [2]).chunks(TokenizedDocument(identity, places + 1000, offsets, n_tokens))


def lengths(batch: PlannedBatch) -> list[int]:
    return [len(chunk) for chunk in batch.chunks]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (512, [*range(512, 128, -16), 128, 64, 32]),
        (200, [200, 192, 176, 160, 144, 128, 64, 32]),
        (128, [128, 64, 32]),
        (100, [100, 64, 32]),
        (63, [63, 32]),
        (16, [16]),
        (1024, [*range(1024, 512, -32), *range(512, 128, -16), 128, 64, 32]),
        (3000, [3000, 2944, 2816, 2688, 2560, 2432, 2304, 2176, *range(2048, 1024, -64), *buckets(1024)]),
    ],
)
def test_buckets_lie_close_where_one_row_is_a_batch_and_are_halves_below(size: int, expected: list[int]) -> None:
    assert buckets(size) == expected


@pytest.mark.parametrize(
    ("size", "length", "shape"),
    [
        (512, 512, (1, 512)),
        (512, 257, (1, 272)),
        (512, 130, (1, 144)),
        (512, 256, (1, 256)),
        (512, 65, (2, 128)),
        (512, 3, (8, 32)),
        (128, 128, (2, 128)),
        (128, 20, (8, 32)),
        (1024, 600, (1, 608)),
        (1024, 20, (8, 32)),
    ],
)
def test_the_shape_of_a_deterministic_batch(size: int, length: int, shape: tuple[int, int]) -> None:
    [batch] = plan_batches([(5, chunk_of(length))], size, BatchingConfig())
    assert (batch.rows, batch.length) == shape
    assert (len(batch.chunks), batch.owners) == (1, (5,))
    assert repr(batch) == f"PlannedBatch(chunks=1, rows={shape[0]}, length={shape[1]})"


def test_rows_with_and_without_padding_never_meet_in_a_deterministic_batch() -> None:
    pairs = [(number, chunk_of(length)) for number, length in enumerate([64, 60, 64, 64, 33])]
    planned = list(plan_batches(pairs, 64, BatchingConfig()))
    assert [lengths(batch) for batch in planned] == [[64, 64, 64], [60, 33]]
    assert {(batch.rows, batch.length) for batch in planned} == {(4, 64)}


def test_equal_lengths_stand_side_by_side_in_the_free_mode() -> None:
    sizes = [10, 30, 20, 30, 10, 20, 30]
    pairs = [(number, chunk_of(length)) for number, length in enumerate(sizes)]
    planned = list(plan_batches(pairs, 30, BatchingConfig(deterministic=False, tokens=60)))
    assert [lengths(batch) for batch in planned] == [[30, 30], [30, 20], [20, 10, 10]]
    assert [batch.owners for batch in planned] == [(1, 3), (6, 2), (5, 0, 4)]
    assert all((batch.rows, batch.length) == (len(batch.chunks), lengths(batch)[0]) for batch in planned)


def test_a_chunk_larger_than_the_budget_is_a_batch_of_its_own() -> None:
    pairs = [(0, chunk_of(90)), (1, chunk_of(20))]
    planned = list(plan_batches(pairs, 100, BatchingConfig(deterministic=False, tokens=50)))
    assert [lengths(batch) for batch in planned] == [[90], [20]]


@pytest.mark.parametrize("deterministic", [True, False])
def test_reading_ahead_stops_at_its_limit_and_is_drained_before_it_goes_on(deterministic: bool) -> None:
    read: list[int] = []

    def source() -> Iterator[tuple[int, Chunk]]:
        for number in range(30):
            read.append(number)
            yield number, chunk_of(20)

    waiting: set[int] = set()
    seen: list[int] = []
    for batch in plan_batches(source(), 32, BatchingConfig(read_ahead=100, deterministic=deterministic)):
        waiting = set(read) - set(seen)
        assert len(waiting) <= 5  # five chunks of 20 tokens are 100
        seen += batch.owners
    assert sorted(seen) == list(range(30))


@pytest.mark.parametrize("deterministic", [True, False])
def test_no_chunks_make_no_batches(deterministic: bool) -> None:
    assert list(plan_batches([], 64, BatchingConfig(deterministic=deterministic))) == []


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_chunk_longer_than_the_size_is_refused(deterministic: bool) -> None:
    message = "`size` must be at least the length of every chunk, but is 16 for one of 17."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        list(plan_batches([(0, chunk_of(17))], 16, BatchingConfig(deterministic=deterministic)))


def test_a_gpu_gets_more_tokens_at_once_unless_they_are_named() -> None:
    assert BatchingConfig().amounts("cpu") == (2048, 256, 65536)
    assert BatchingConfig().amounts("cuda") == (65536, 16384, 1 << 20)
    assert BatchingConfig(tokens=7, fixed_tokens=8, read_ahead=9).amounts("cuda") == (7, 8, 9)
    chunks = [(0, chunk_of(512)) for _ in range(40)]
    batches = list(plan_batches(chunks, 512, BatchingConfig(), device="cuda"))
    assert [(batch.rows, batch.length, len(batch.chunks)) for batch in batches] == [(32, 512, 32), (32, 512, 8)]
    assert all(batch.is_fixed for batch in batches)
    assert len(list(plan_batches(chunks, 512, BatchingConfig()))) == 40
    [free] = plan_batches(chunks, 512, BatchingConfig(deterministic=False), device="cuda")
    assert (free.rows, free.is_fixed) == (40, False)


def test_three_quarters_lie_between_halves_where_many_rows_share_a_batch() -> None:
    assert buckets(512, fixed_tokens=16384) == [512, 384, 256, 192, 128, 96, 64, 48, 32]
    assert buckets(500, fixed_tokens=16384) == [500, 384, 256, 192, 128, 96, 64, 48, 32]
    assert buckets(512, fixed_tokens=1024) == [512, 256, 128, 64, 48, 32]
    assert buckets(40, fixed_tokens=1)[0] == 40


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"fixed_tokens": 0}, {"read_ahead": 0}, {"rows": 3}])
def test_the_configuration_has_bounds(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        BatchingConfig(**wrong)  # type: ignore[arg-type]


def collated_slowly(
    chunks: Sequence[Chunk], owners: Sequence[int], documents: int, rows: int, length: int
) -> ChunkBatch:
    """The same batch, cell by cell."""
    ids = torch.full((rows, length), PAD)
    valid, body, core = torch.ones(rows, length, dtype=torch.bool), *torch.zeros(2, rows, length, dtype=torch.bool)
    owner, weights = torch.zeros(rows, dtype=torch.int64), torch.zeros(rows)
    for row, chunk in enumerate(chunks):
        owner[row] = owners[row]
        for column in range(length):
            valid[row, column] = column < len(chunk)
            if column < len(chunk):
                ids[row, column] = int(chunk.token_ids[column])
            token = chunk.span.start + column - chunk.lead
            body[row, column] = chunk.span.start <= token < chunk.span.end
            core[row, column] = chunk.core.start <= token < chunk.core.end
            weights[row] += float(core[row, column])
    padded = any(len(chunk) < length for chunk in chunks)
    return ChunkBatch(ids, valid if padded else None, body, core, owner, weights, documents, tuple(chunks))


@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    extra_rows=st.integers(0, 3),
    extra_length=st.integers(0, 3),
)
@settings(deadline=None, max_examples=100)
def test_a_batch_equals_the_one_made_cell_by_cell(sizes: list[int], extra_rows: int, extra_length: int) -> None:
    pairs = [(owner, chunk) for owner, size in enumerate(sizes) for chunk in chunks_of(size)]
    owners, chunks = zip(*pairs, strict=True)
    rows, length = len(chunks) + extra_rows, max(map(len, chunks)) + extra_length
    batch = collate(chunks, owners, len(sizes), PAD, rows, length)
    expected = collated_slowly(chunks, owners, len(sizes), rows, length)
    assert (batch.documents, batch.chunks) == (expected.documents, expected.chunks)
    for name in ("token_ids", "body", "core", "owner", "weights"):
        found, right = getattr(batch, name), getattr(expected, name)
        assert found.dtype == right.dtype
        assert torch.equal(found, right), name
    assert (batch.valid is None) == (expected.valid is None)
    if batch.valid is not None and expected.valid is not None:
        assert torch.equal(batch.valid, expected.valid)
    assert int(batch.core.sum()) == sum(sizes) == int(batch.weights.sum())


def test_the_shape_is_that_of_the_chunks_where_none_is_given() -> None:
    batch = collate([chunk_of(9), chunk_of(5)], [0, 0], 1, PAD)
    assert batch.token_ids.shape == (2, 9)
    assert batch.token_ids[1].tolist() == [1000, 1001, 1002, 1003, 1004, PAD, PAD, PAD, PAD]
    assert batch.valid is not None
    assert batch.valid.sum(dim=1).tolist() == [9, 5]


def test_filler_rows_are_read_like_full_ones_and_count_for_nothing() -> None:
    batch = collate([chunk_of(5)], [2], 3, PAD, rows=3, length=6)
    assert batch.valid is not None
    assert batch.valid.sum(dim=1).tolist() == [5, 6, 6]
    assert batch.token_ids[1:].tolist() == [[PAD] * 6] * 2
    assert not batch.body[1:].any()
    assert not batch.core[1:].any()
    assert batch.owner.tolist() == [2, 0, 0]
    assert batch.weights.tolist() == [3.0, 0.0, 0.0]


def test_full_rows_need_no_mask_even_beside_filler() -> None:
    assert collate([chunk_of(6), chunk_of(6)], [0, 1], 2, PAD, rows=4, length=6).valid is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"rows": 1},
            "`rows` must be at least 1 and the number of chunks (2), but is 1 instead.",
        ),
        (
            {"length": 8},
            "`length` must be at least 1 and that of the longest chunk (9), but is 8 instead.",
        ),
        ({"owners": [0]}, "`owners` must have one entry a chunk (2), but has 1 instead."),
        ({"owners": [0, 3]}, "`owners` must be in [0, 2), but one is 3 instead."),
        ({"owners": [-1, 0]}, "`owners` must be in [0, 2), but one is -1 instead."),
    ],
)
def test_a_batch_refuses_what_does_not_fit(arguments: dict[str, object], message: str) -> None:
    given_arguments = {"owners": [0, 1], "documents": 2, "pad_id": PAD, **arguments}
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        collate([chunk_of(9), chunk_of(5)], **given_arguments)  # type: ignore[arg-type]


def test_a_batch_has_at_least_one_row() -> None:
    message = "`rows` must be at least 1 and the number of chunks (0), but is 0 instead."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        collate([], [], 0, PAD)

"""Chunk arithmetic against the slow reference, and its refusals word by word."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.text.planning import STARTS, chunk_body, count_chunks, plan_chunks, plan_cores, spans
from reference.chunking_reference import owner_of_each_token, plan_chunks_slowly

SIZES = st.integers(1, 40).flatmap(lambda body: st.tuples(st.just(body), st.integers(0, body - 1)))


@given(n_tokens=st.integers(0, 200), sizes=SIZES)
@settings(deadline=None, max_examples=400)
def test_a_plan_equals_the_slow_one_and_keeps_its_promises(n_tokens: int, sizes: tuple[int, int]) -> None:
    body, overlap = sizes
    chunks = plan_chunks(n_tokens, body, overlap)
    assert chunks == plan_chunks_slowly(n_tokens, body, overlap)
    assert len(chunks) == count_chunks(n_tokens, body, overlap)
    assert {token for start, end in chunks for token in range(start, end)} == set(range(n_tokens))
    assert all(end - start <= body for start, end in chunks)
    for (start, end), (next_start, next_end) in pairwise(chunks):
        assert end - next_start == overlap
        assert start < next_start
        assert end < next_end


@given(n_tokens=st.integers(0, 200), sizes=SIZES)
@settings(deadline=None, max_examples=300)
def test_cores_partition_the_document_and_give_each_token_its_best_context(
    n_tokens: int, sizes: tuple[int, int]
) -> None:
    chunks = plan_chunks(n_tokens, *sizes)
    cores = plan_cores(chunks)
    owners = [number for number, (start, end) in enumerate(cores) for _ in range(start, end)]
    assert owners == owner_of_each_token(chunks, n_tokens)
    assert all(a <= c <= d <= b for (a, b), (c, d) in zip(chunks, cores, strict=True))
    assert [cores[0][0], cores[-1][1]] == [0, n_tokens]


@given(n_tokens=st.integers(1, 200), sizes=SIZES, keep=st.sampled_from(sorted(STARTS)))
@settings(deadline=None, max_examples=300)
def test_cores_of_kept_chunks_partition_what_was_read(n_tokens: int, sizes: tuple[int, int], keep: str) -> None:
    kept = list(spans(n_tokens, *sizes, keep))  # type: ignore[arg-type]
    read = sorted({token for start, end in kept for token in range(start, end)})
    assert [token for start, end in plan_cores(kept) for token in range(start, end)] == read
    everything = plan_chunks(n_tokens, *sizes)
    expected = {
        "all": everything,
        "head": everything[:1],
        "tail": [(max(0, n_tokens - sizes[0]), n_tokens)],
        "head_tail": sorted({everything[0], everything[-1]}),
    }
    assert kept == expected[keep]


def test_an_even_overlap_is_halved_and_the_middle_of_an_odd_one_goes_to_the_earlier_chunk() -> None:
    assert plan_cores([(0, 14), (10, 24)]) == [(0, 12), (12, 24)]
    assert plan_cores([(0, 14), (9, 23)]) == [(0, 12), (12, 23)]
    assert plan_cores([(0, 14), (13, 20)]) == [(0, 14), (14, 20)]


def test_chunks_that_do_not_touch_answer_for_all_their_tokens() -> None:
    assert plan_cores([(0, 14), (20, 34)]) == [(0, 14), (20, 34)]
    assert plan_cores([(0, 14), (14, 28)]) == [(0, 14), (14, 28)]


def test_an_empty_document_has_one_empty_chunk() -> None:
    assert plan_chunks(0, 8, 2) == [(0, 0)]
    assert plan_cores([(0, 0)]) == [(0, 0)]
    assert plan_cores([]) == []


def test_a_plan_is_made_of_plain_tuples() -> None:
    assert {type(chunk) for chunk in plan_chunks(25, 14, 4)} == {tuple}
    assert {type(core) for core in plan_cores([(0, 14), (10, 24)])} == {tuple}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 8, 2), "`n_tokens` must be at least 0, but is -1 instead."),
        ((9, 0, 0), "`body` must be at least 1, but is 0 instead. Raise the chunk size."),
        ((9, -3, 0), "`body` must be at least 1, but is -3 instead. Raise the chunk size."),
        (
            (9, 8, -1),
            "`overlap` must be at least 0 and less than the chunk body (8), but is -1 instead. Use at most 7, or raise "
            "the chunk size.",
        ),
        (
            (9, 8, 8),
            "`overlap` must be at least 0 and less than the chunk body (8), but is 8 instead. Use at most 7, or raise "
            "the chunk size.",
        ),
    ],
)
def test_a_plan_refuses_what_cannot_be(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        plan_chunks(*arguments)


@pytest.mark.parametrize("chunks", [[(10, 24), (0, 14)], [(0, 14), (3, 9)], [(0, 14), (0, 20)], [(5, 14), (8, 14)]])
def test_cores_refuse_chunks_that_do_not_rise(chunks: list[tuple[int, int]]) -> None:
    message = (
        f"`chunks` must start and end later one after the other, but chunk 1 is {chunks[1]} after {chunks[0]}. "
        f"Sort them and leave out those that lie inside others."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        plan_cores(chunks)


@pytest.mark.parametrize(
    ("arguments", "body"),
    [((512, 2), 510), ((512, 2, 509), 510), ((10, 2, 7), 8), ((3, 2), 1), ((128, 3, 0, 124), 1), ((7, 0), 7)],
)
def test_the_body_is_what_specials_and_prefix_leave(arguments: tuple[int, ...], body: int) -> None:
    assert chunk_body(*arguments) == body


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (512, 2, 510),
            "`overlap` must be in [0, 509] for chunks of `size` 512 with 2 special tokens, but is 510 instead. "
            "Change `overlap`, or raise `size`.",
        ),
        (
            (128, 3, 20, 110),
            "`overlap` must be in [0, 14] for chunks of `size` 128 with 3 special tokens and a prefix of 110, but is "
            "20 instead. Change `overlap`, or raise `size`.",
        ),
        (
            (2, 2),
            "`size` must be at least 3 for chunks with 2 special tokens, but is 2 instead. Raise `size`.",
        ),
        (
            (128, 3, 0, 125),
            "`prefix_tokens` must be at most 124 for chunks of `size` 128 with 3 special tokens, but is 125 instead: "
            "the prefix leaves no room. Shorten it, or raise `size`.",
        ),
    ],
)
def test_the_body_refuses_what_leaves_no_room(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        chunk_body(*arguments)

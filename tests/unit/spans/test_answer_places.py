"""Places of answers against slow loops: which there are, which chunk scores each, and their probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.spans.answers import AnswerPlaces, where_answers_may_be
from longdoc.spans.words import find_words
from longdoc.text.planning import plan_chunks, plan_cores
from longdoc.types import Span
from reference.answers import chances, owners


@st.composite
def plans(draw: st.DrawFn, tokens: int) -> list[tuple[int, int]]:
    """Chunks of one length and one overlap, or such whose starts and ends rise as they please."""
    if draw(st.booleans()):
        body = draw(st.integers(1, 12))
        return plan_chunks(tokens, body, draw(st.integers(0, body - 1)))
    chunks = [(0, draw(st.integers(1, tokens)))]
    while chunks[-1][1] < tokens:
        start, end = chunks[-1]
        chunks.append((draw(st.integers(start + 1, end)), draw(st.integers(end + 1, tokens))))
    return chunks


@st.composite
def documents(draw: st.DrawFn) -> tuple[AnswerPlaces, int]:
    tokens = draw(st.integers(1, 24))
    flags = st.lists(st.booleans(), min_size=tokens, max_size=tokens)
    chunks = np.array(draw(plans(tokens)), dtype=np.int64)
    nothing = np.zeros((0, 2), dtype=np.int64)
    places = AnswerPlaces(chunks, np.array(draw(flags)), np.array(draw(flags)), nothing)
    return places, draw(st.integers(1, 14))


@settings(max_examples=40, deadline=None)
@given(document=documents(), seed=st.integers(0, 1000))
def test_places_owners_and_chances_are_those_of_the_loops(document: tuple[AnswerPlaces, int], seed: int) -> None:
    places, longest = document
    spans = [tuple(chunk) for chunk in places.chunks.tolist()]
    owner = owners(spans, places.begins.tolist(), places.ends.tolist(), longest)
    found = {}
    for number in range(len(spans)):
        for first, last in zip(*places.candidates(number, longest), strict=True):
            assert (int(first), int(last)) not in found, "a place is scored once"
            found[int(first), int(last)] = number
    assert found == owner

    scores = np.random.default_rng(seed).integers(-8, 8, size=(places.scores, 2)) / 4  # exact, and some are equal
    ends = np.append(places.rows[1:], places.scores)
    of_chunks = [[tuple(row) for row in scores[a:b].tolist()] for a, b in zip(places.rows, ends, strict=True)]
    wanted, none = chances(of_chunks, spans, owner, nowhere=True)
    best, total = places.best(scores, longest, 5)
    nowhere = places.nowhere(scores)
    whole = np.logaddexp(total, nowhere)
    assert math.isclose(math.exp(nowhere - whole), none, rel_tol=1e-9)
    order = sorted(wanted, key=lambda place: (-round(math.log(wanted[place]), 9), *place))[:5]
    assert [(place.first, place.last) for place in best] == order
    assert [place.chunk for place in best] == [owner[place] for place in order]
    for place in best:
        assert math.isclose(math.exp(place.score - whole), wanted[place.first, place.last], rel_tol=1e-9)


@settings(max_examples=20, deadline=None)
@given(document=documents())
def test_single_tokens_belong_to_their_cores_and_short_places_are_always_shown(
    document: tuple[AnswerPlaces, int],
) -> None:
    places, _ = document
    everywhere = np.ones_like(places.begins)
    open_places = AnswerPlaces(places.chunks, everywhere, everywhere, places.gold)
    cores = plan_cores([tuple(chunk) for chunk in places.chunks.tolist()])
    for number, core in enumerate(cores):
        first, _ = open_places.candidates(number, 1)
        assert first.tolist() == list(range(*core))
    overlap = min((int(a[1] - b[0]) for a, b in zip(places.chunks, places.chunks[1:], strict=False)), default=99)
    longest = overlap + 1
    found = {
        (int(a), int(b))
        for number in range(len(cores))
        for a, b in zip(*open_places.candidates(number, longest), strict=True)
    }
    tokens = len(everywhere)
    assert found == {(a, b) for a in range(tokens) for b in range(a, min(tokens, a + longest))}


def test_packing_loses_nothing() -> None:
    places = AnswerPlaces(
        np.array([[0, 4], [2, 6]]), np.array([1, 0, 1, 0, 1, 1], dtype=bool), np.array([0, 1, 1, 0, 0, 1], dtype=bool),
        np.array([[0, 1], [4, 5]]), has_answer=True,
    )  # fmt: skip
    again = AnswerPlaces.unpacked(places.packed())
    for name in ("chunks", "begins", "ends", "gold"):
        assert np.array_equal(getattr(again, name), getattr(places, name)), name
    assert again.has_answer
    without = AnswerPlaces(places.chunks, places.begins, places.ends, places.gold[:0])
    assert not AnswerPlaces.unpacked(without.packed()).has_answer


TEXT = "Ann paid 5 Euros.\nBob"
OFFSETS = np.array([(0, 3), (4, 6), (6, 8), (9, 10), (11, 13), (13, 16), (16, 17), (17, 18), (18, 21)], dtype=np.int32)
"""Tokens of two letters, but for names; the ninth-last but one is a line break."""


def places_of(answers: list[tuple[int, int]], whole_words: bool = True, read: slice = slice(None)) -> tuple:
    numbers = np.arange(len(OFFSETS), dtype=np.int32)[read]
    words = find_words(TEXT, OFFSETS[read], numbers, "first" if whole_words else "split")
    chunk = Span(int(numbers[0]), int(numbers[-1]) + 1)
    return where_answers_may_be(TEXT, words, numbers, [chunk], [Span(*answer) for answer in answers])


def test_answers_begin_and_end_where_words_do_and_never_with_white_space() -> None:
    places, _ = places_of([])
    assert np.flatnonzero(places.begins).tolist() == [0, 1, 3, 4, 6, 8]
    assert np.flatnonzero(places.ends).tolist() == [0, 2, 3, 5, 6, 8]
    places, _ = places_of([], whole_words=False)
    assert np.flatnonzero(places.begins).tolist() == np.flatnonzero(places.ends).tolist() == [0, 1, 2, 3, 4, 5, 6, 8]


@pytest.mark.parametrize(
    ("answer", "gold", "moved"),
    [((0, 3), [[0, 0]], 0), ((9, 16), [[3, 5]], 0), ((9, 14), [[3, 5]], 1), ((8, 16), [[3, 5]], 0), ((3, 4), [], 0)],
)
def test_gold_answers_become_whole_words(answer: tuple[int, int], gold: list[list[int]], moved: int) -> None:
    places, counts = places_of([answer])
    assert places.gold.tolist() == gold
    assert (counts.moved, counts.unread) == (moved, int(not gold))
    assert places.has_answer


def test_what_was_not_read_is_no_answer_but_not_the_absence_of_one() -> None:
    places, counts = places_of([(18, 21)], read=slice(0, 6))
    assert (places.gold.tolist(), counts.unread, places.has_answer) == ([], 1, True)
    assert not places_of([])[0].has_answer

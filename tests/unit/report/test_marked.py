"""Texts as pages show them: nothing is lost, and each piece is under what covers it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.report.marked import marked_text, shade_level
from longdoc.report.paragraphs import paragraph_starts
from longdoc.report.reading import ReadingMap, reading_map
from longdoc.types import Chunk, EvidencePassage, ScoredSpan, Span, TokenizedDocument

RANGES = st.lists(st.tuples(st.integers(0, 11), st.integers(1, 12)).filter(lambda each: each[0] < each[1]), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.text("ab\n\f\r", min_size=12, max_size=12), RANGES, RANGES, RANGES, st.data())
def test_every_character_is_under_what_covers_it(text, first, second, spans, data):
    evidence = [
        [EvidencePassage(start, end, "x", data.draw(st.integers(-3, 3))) for start, end in each]
        for each in (first, second)
    ]
    found = [ScoredSpan(start, end, "s", 0.5) for start, end in spans]
    marked = marked_text(text, evidence, found)
    pieces = [piece for paragraph in marked.paragraphs for piece in paragraph]
    assert "".join(piece.text for piece in pieces) == text
    place = 0
    for piece in pieces:
        for _ in piece.text:
            under = [
                [item.weight for item in each if item.start <= place < item.end] for each in evidence
            ]  # fmt: skip
            if any(under):
                passage = marked.passages[piece.passage]
                assert passage.start <= place < passage.end
                assert passage.weights == tuple(math.fsum(each) if each else None for each in under)
            else:
                assert piece.passage is None
            covering = [number for number, span in enumerate(found) if span.start <= place < span.end]
            assert sorted(piece.spans) == covering
            place += 1
    for field in ("begins", "ends"):
        assert sorted(number for piece in pieces for number in getattr(piece, field)) == [*range(len(found))]
    firsts = [piece.passage for piece in pieces if piece.begins_passage]
    assert firsts == [*range(len(marked.passages))]


def test_passages_side_by_side_stay_apart_and_know_their_places():
    reading = ReadingMap(((0, 3), (4, 8)), (1, 3), ((8, 10),))
    marked = marked_text(
        "aabb ccdd e", [[EvidencePassage(0, 2, "x", 1.0), EvidencePassage(2, 7, "x", 1.0)]], reading=reading
    )
    assert [(each.start, each.end, each.chunk) for each in marked.passages] == [(0, 2, 1), (2, 7, 1)]
    (pieces,) = marked.paragraphs
    assert [(piece.text, piece.passage, piece.read) for piece in pieces] == [
        ("aa", 0, True), ("bb cc", 1, True), ("d", None, True), ("d ", None, False), ("e", None, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "level"),
    [(4.0, 5), (-4.0, 5), (3.2, 4), (3.21, 5), (0.81, 2), (0.8, 1), (0.21, 1), (0.2, 0), (0.0, 0), (None, 0)],
)
def test_shading_is_in_five_steps_and_leaves_the_faint_plain(weight, level):
    assert shade_level(weight, 4.0) == level


def test_nothing_is_shaded_where_nothing_weighs():
    assert shade_level(0.0, 0.0) == 0


def test_paragraphs_begin_after_empty_lines_and_page_ends_and_in_long_runs_after_any_line():
    text = "a\nb\n\nc\r\n \t\nd\fe\n"
    starts = paragraph_starts(text)
    assert [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)] == [
        "a\nb\n\n", "c\r\n \t\n", "d\f", "e\n",
    ]  # fmt: skip
    lines = ("x" * 399 + "\n") * 6
    assert paragraph_starts(lines) == [0, 1200]
    assert paragraph_starts("") == [0]


def test_the_map_of_a_document_says_what_was_read_and_by_which_chunk():
    offsets = np.array([[0, 2], [3, 5], [5, 6], [8, 9], [9, 12]], dtype=np.int32)
    tokenized = TokenizedDocument("d", np.arange(5, dtype=np.int32), offsets, 14)

    def chunk(ordinal: int, start: int, end: int) -> Chunk:
        ids = np.arange(end - start, dtype=np.int32)
        return Chunk("d", ordinal, 3, Span(start, end), Span(start, end), ids, 0)

    found = reading_map(tokenized, [chunk(0, 0, 2), chunk(1, 2, 2), chunk(2, 3, 4)])
    assert found == ReadingMap(((0, 5), (8, 9)), (1, 3), ((5, 6), (9, 12)))
    assert [found.chunk_at(place) for place in (0, 4, 5, 8, 9)] == [1, 1, 3, 3, None]
    assert reading_map(tokenized, []) == ReadingMap((), (), ((0, 12),))

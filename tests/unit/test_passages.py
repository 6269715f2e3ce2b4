"""Passages end where sentences do, and only what was read is a passage."""

from __future__ import annotations

import re

import numpy as np

from longdoc.passages import passages_read, split_passages
from longdoc.types import Span


def test_passages_end_where_sentences_do() -> None:
    text = "One two three. Four five six!\nSeven eight nine ten"
    words = [(0, 3), (4, 7), (8, 13), (13, 14), (15, 19), (20, 24), (25, 28), (28, 29)]
    words += [(30, 35), (36, 41), (42, 46), (47, 50)]
    offsets = np.array(words, dtype=np.int32)
    assert split_passages(text, offsets, shortest=2, longest=99) == [(0, 4), (4, 8), (8, 12)]
    assert split_passages(text, offsets, shortest=2, longest=3)[0] == (0, 3)
    assert split_passages(text, offsets[:0]) == []


def test_a_passage_does_not_end_with_an_abbreviation_and_does_with_a_clause() -> None:
    text = "See Roe v. Wade; it ended. So."
    offsets = np.array([[m.start(), m.end()] for m in re.finditer(r"\w+|\S", text)], dtype=np.int32)
    words = [text[offsets[a, 0] : offsets[b - 1, 1]] for a, b in split_passages(text, offsets, shortest=1)]
    assert words == ["See Roe v. Wade;", "it ended.", "So."]
    chinese = "他走。我来。"
    each = np.array([[place, place + 1] for place in range(6)], dtype=np.int32)
    assert split_passages(chinese, each, shortest=1) == [(0, 3), (3, 6)]


def test_what_was_not_read_is_no_passage() -> None:
    ranges = [(0, 4), (4, 8), (8, 12)]
    assert passages_read(ranges, [Span(0, 6), Span(6, 12)]) == ranges, "chunks that meet leave no seam"
    assert passages_read(ranges, [Span(0, 5), Span(9, 12)]) == [(0, 4), (4, 5), (9, 12)]
    assert passages_read(ranges, [Span(5, 7)]) == [(5, 7)]

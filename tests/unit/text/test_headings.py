"""Headings of plain text: which lines are, and which only look like some."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.text.headings import find_headings, told_sections


def headings(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in find_headings(text)]


@pytest.mark.parametrize(
    "line",
    [
        *("# Facts", "###### Deep", "ASSESSMENT AND PLAN:", "FACTS", "3. Scope", "3.1.2 Scope of work", "IV. Remedies"),
        *(
            "§ 5 Haftung",
            "Article 12",
            "ARTICLE IV",
            "Kapitel 3",
            "Título II",
            "第三章 总则",
            "Titled\n======",
            "A. Parties",
        ),
    ],
)
def test_lines_that_are_headings(line: str) -> None:
    text = f"Some words of a text.\n\n{line}\nAnd it goes on."
    assert headings(text) == [line]
    assert headings(line) == [line], "the first line of a text, and its last"
    assert headings(text.replace("\n", "\r\n")) == [line.replace("\n", "\r\n")]


@pytest.mark.parametrize(
    "text",
    [
        "Plain words\nand more.",
        "3. He left the house.",
        "It says in\n3. Scope of the act",
        "1. This License applies to any program or other work which contains\na notice.",
        "THE SOFTWARE IS PROVIDED AS IS\nAND NOTHING ELSE\nIS PROMISED",
        "A LINE IN CAPITALS THAT STOPS.\nOk.",
        "BP 120\nok",
        "---\n---",
        "#hashtag\nok",
        "FACTS" * 30 + "\nok",
        "3. no capital\nok",
    ],
)
def test_lines_that_are_none(text: str) -> None:
    assert headings(text) == []


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="aAB1#. \n\f=", max_size=50))
def test_headings_are_whole_lines_in_order(text: str) -> None:
    found = find_headings(text)
    for start, end in found:
        assert text[:start].rpartition("\n")[2].rpartition("\f")[2].strip() == ""
        assert end == len(text) or text[end - 1] in "\n\f"
        assert text[start:end].strip()
    assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize("told", [None, 3, [], [1], [[0, 1, 2]], [["0", 1]], [[9, 1]], [[-1, 1]], [[True, 1]]])
def test_a_field_that_is_called_sections_but_means_something_else_is_nothing(told: object) -> None:
    assert told_sections("text", {"sections": told}) is None
    assert told_sections("text", {"sections": [[0, 1], (4, 2)]}) == [0, 4]

"""Where texts may be cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import DocumentError
from longdoc.text.cutting import CUT_RULES, LARGEST_RUN, cut, probe_text

ANY = re.compile("|".join(CUT_RULES.values()))


def pieces(text: str, size: int = 1, pattern: re.Pattern[str] | None = ANY) -> list[str]:
    return [text[start:end] for start, end in cut(text, pattern, size)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three", ["one", " two", " three"]),
        ("two  spaces stay", ["two  spaces", " stay"]),
        (" edges ", [" edges "]),
        ("tab\tand \tmore", ["tab\tand \tmore"]),
        ("line\nbreak\r\nagain\n\nparagraph", ["line", "\nbreak", "\r\nagain\n\nparagraph"]),
        ("中文a文中", ["中", "文a文", "中"]),
        ("", [""]),
    ],
)
def test_a_piece_ends_before_a_single_separator(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@given(text=st.text(alphabet="ab \n\r\t中文\u2028\x1c", max_size=80), size=st.integers(1, 30))
@settings(deadline=None, max_examples=300)
def test_pieces_are_the_text_and_long_enough(text: str, size: int) -> None:
    found = pieces(text, size)
    assert "".join(found) == text
    assert all(len(piece) >= size for piece in found[:-1])
    assert all(ANY.match(text, sum(map(len, found[:number]))) for number in range(1, len(found)))


def test_without_a_pattern_nothing_is_cut() -> None:
    assert pieces("one two three", 1, None) == ["one two three"]


@pytest.mark.parametrize("pattern", [None, ANY])
def test_a_run_without_a_place_to_cut_is_taken_whole_up_to_the_limit(pattern: re.Pattern[str] | None) -> None:
    assert list(cut("x" * 100, pattern, 10, 100)) == [(0, 100)]
    assert list(cut("x" * 100 + " y", ANY, 10, 100)) == [(0, 100), (100, 102)]


def test_a_longer_run_is_too_large() -> None:
    message = (
        "The text must have a place where it can be cut without changing its tokens within 100 characters, but has "
        "none after character 9. Put spaces or line breaks between its words, or split it."
    )
    found = cut("some text " + "x" * 100 + " y", ANY, 3, 100)
    assert [next(found), next(found)] == [(0, 4), (4, 9)]
    with pytest.raises(DocumentError, match=f"^{re.escape(message)}$") as caught:
        next(found)
    assert (caught.value.reason, caught.value.stage) == ("too_large", "tokenize")


def test_the_text_is_searched_only_as_far_as_a_piece_may_reach() -> None:
    class Watched:
        """A pattern that notes how far it was allowed to look."""

        furthest = 0

        def search(self, text: str, start: int, end: int) -> re.Match[str] | None:
            self.furthest = max(self.furthest, end)
            return ANY.search(text, start, end)

    watched = Watched()
    with pytest.raises(DocumentError):
        list(cut("x" * 10_000, watched, 10, 100))  # type: ignore[arg-type]
    assert watched.furthest == 102


def test_the_limit_lets_five_megabytes_without_a_space_through() -> None:
    assert LARGEST_RUN > 5_000_000


@pytest.mark.parametrize("separator", CUT_RULES)
def test_the_probe_has_many_places_of_each_rule(separator: str) -> None:
    text = probe_text(separator)
    places = len(re.findall(CUT_RULES[separator], text))
    assert places > (100 if separator == "" else 1500)
    assert len(text) < 50_000


def test_the_probe_puts_every_kind_of_word_on_either_side() -> None:
    text = probe_text(" ")
    for left, right in [("word", "😀"), ("😀", "word"), ("##ing", "\u0301x"), ("42", "42"), ("中文", "[SEP]")]:
        assert f" {left} {right} " in text

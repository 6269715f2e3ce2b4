"""Repairs of offsets, each with the right value, and the general promise."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from longdoc.text.offsets import attaches, covered_characters, repair_offsets


def repaired(text: str, *offsets: tuple[int, int]) -> list[tuple[int, int]]:
    found = repair_offsets(np.array(offsets, dtype=np.int32).reshape(-1, 2), text)
    assert found.dtype == np.int32
    return [(int(start), int(end)) for start, end in found]


@pytest.mark.parametrize(
    ("text", "reported", "right"),
    [
        ("a bc d", [(0, 1), (1, 4), (4, 6)], [(0, 1), (2, 4), (5, 6)]),  # a marker claims the space before a word
        ("a bc \n", [(0, 2), (2, 6)], [(0, 1), (2, 4)]),  # or the white space after it
        ("a  b", [(0, 1), (1, 2), (2, 4)], [(0, 1), (1, 2), (3, 4)]),  # a token of a space alone stays where it is
        ("a\u3000\u00a0b", [(0, 1), (1, 4)], [(0, 1), (3, 4)]),  # any white space, not only U+0020
        ("a b", [(0, 1), (2, 2), (2, 3)], [(0, 1), (2, 2), (2, 3)]),  # an empty token stays empty
    ],
)
def test_spans_begin_and_end_with_a_word(
    text: str, reported: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    assert repaired(text, *reported) == right


@pytest.mark.parametrize(
    ("text", "reported", "right"),
    [
        ("\u1112\u1161\u11ab x", [(0, 1), (4, 5)], [(0, 3), (4, 5)]),  # conjoining jamo
        ("\uac00\u11a8x", [(0, 1), (2, 3)], [(0, 2), (2, 3)]),  # a syllable and a final consonant
        ("ㅎㅏㄳ", [(0, 1)], [(0, 3)]),  # compatibility jamo
        ("ｶﾞ x", [(0, 1), (3, 4)], [(0, 2), (3, 4)]),  # a half-width voicing mark
        ("e\u0301x", [(0, 1), (2, 3)], [(0, 2), (2, 3)]),  # an accent that was composed, or deleted
        ("e\u0323\u0301", [(0, 1), (2, 3)], [(0, 2), (2, 3)]),  # one composed, one a token of its own
        ("e\u0301", [(0, 1), (0, 1)], [(0, 2), (0, 2)]),  # all pieces of a character
        ("❤\ufe0f x", [(0, 1), (3, 4)], [(0, 2), (3, 4)]),  # a variation selector
        ("a\u00adb", [(0, 1), (2, 3)], [(0, 1), (2, 3)]),  # a soft hyphen is nobody's
        ("\u0301x", [(1, 2)], [(1, 2)]),  # nothing before the mark
        ("a \u0301x", [(0, 1), (3, 4)], [(0, 1), (3, 4)]),  # a mark on a space belongs to no word
        ("e\u0301", [(0, 0), (0, 1)], [(0, 0), (0, 2)]),  # an empty token does not grow
    ],
)
def test_what_follows_a_character_and_is_no_token_belongs_to_it(
    text: str, reported: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    assert repaired(text, *reported) == right


def test_offsets_stay_inside_the_text() -> None:
    assert repaired("abc", (0, 9), (5, 7)) == [(0, 3), (3, 3)]
    assert repaired("abc", (2, 1)) == [(2, 2)]
    assert repaired("", (0, 1)) == [(0, 0)]
    assert repaired("abc") == []


def _composed_parts() -> set[str]:
    """Every character that NFC or NFKC composes with the ones before it, found by looking at all decompositions."""
    seconds = set()
    for point in range(0x110000):
        for form in ("NFD", "NFKD"):
            parts = unicodedata.normalize(form, chr(point))
            if len(parts) > 1:
                lengths = [len(unicodedata.normalize("NFC", parts[:length])) for length in range(1, len(parts) + 1)]
                seconds |= {part for part, (a, b) in zip(parts[1:], pairwise(lengths), strict=True) if a == b}
    return seconds


def test_all_that_unicode_composes_attaches() -> None:
    seconds = _composed_parts()
    assert len(seconds) > 100
    assert {character for character in seconds if not attaches(ord(character))} == set()


def test_every_character_that_nfkc_composes_with_a_kana_or_a_consonant_attaches() -> None:
    for before in ("か", "\u1112", "\ud558", "e"):
        for point in [*range(0x300, 0x370), *range(0x1160, 0x1200), *range(0x3099, 0x309B), *range(0x3131, 0x3164)]:
            alone = unicodedata.normalize("NFKC", before)
            if len(unicodedata.normalize("NFKC", before + chr(point))) == len(alone):
                assert attaches(point), hex(point)


@pytest.mark.parametrize("character", ["a", " ", "1", "한", "中", "ᄒ", "か", "½", "\u200d", "\u00ad", "😀", "ｶ"])
def test_characters_that_stand_alone_do_not_attach(character: str) -> None:
    assert not attaches(ord(character))


@pytest.mark.parametrize(
    ("offsets", "count"),
    [
        ([], 0),
        ([(2, 5)], 3),
        ([(0, 1), (0, 1), (0, 1)], 1),  # pieces of one character
        ([(0, 4), (2, 6), (8, 9)], 7),
        ([(0, 9), (2, 3), (4, 12)], 12),
        ([(5, 7), (0, 2)], 4),  # in any order
        ([(3, 3)], 0),
    ],
)
def test_covered_characters_are_counted_once(offsets: list[tuple[int, int]], count: int) -> None:
    assert covered_characters(np.array(offsets, dtype=np.int32).reshape(-1, 2)) == count

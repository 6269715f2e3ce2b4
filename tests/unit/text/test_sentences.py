"""Sentences: hand-made cases of many languages, and what must hold for any text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.text.abbreviations import abbreviations
from longdoc.text.sentences import sentence_starts, split_sentences

BREAK = "‖"
LINES = Path(__file__).with_name("sentence_cases.txt").read_text("utf-8").splitlines()
CASES = [line.split(": ", 1) for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize("everything", [False, True])
def test_cases_made_by_hand(everything: bool) -> None:
    wrong = []
    for language, written in CASES:
        expected = written.replace(r"\n", "\n").split(BREAK)
        found = split_sentences("".join(expected), "auto" if everything else language)
        if found != expected:
            wrong.append(BREAK.join(found))
    assert wrong == []
    assert len(CASES) >= 120


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="aB1 .!?…。\n\"')(#=I[]»", max_size=60), st.sampled_from([None, "de", "xx"]))
def test_sentences_are_the_text_cut_in_pieces(text: str, language: str | None) -> None:
    pieces = split_sentences(text, language)
    assert "".join(pieces) == text
    assert all(pieces)
    starts = sentence_starts(text, language)
    assert starts == sorted(set(starts))
    assert all(not text[start].isspace() for start in starts[1:]), "a sentence begins with something"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(["One two.", "Is it?", "Dr. No v. Yes.", "no stop"]), min_size=1, max_size=6))
def test_paragraphs_are_split_each_by_itself(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    expected = []
    for number, paragraph in enumerate(paragraphs):
        own = split_sentences(paragraph)
        expected += [*own[:-1], own[-1] + "\n\n" * (number < len(paragraphs) - 1)]
    assert split_sentences(text) == expected


def test_an_unknown_language_is_all_languages() -> None:
    assert abbreviations("xx") == abbreviations(None) == abbreviations("auto")
    assert abbreviations("de-AT") == abbreviations("DE_ch") != abbreviations(None)
    assert "st.p" in abbreviations("de").never
    assert "st.p" not in abbreviations("fr").never
    assert sentence_starts("") == []
    assert sentence_starts(" \n ") == [0]


UNITS = (
    ".",
    ". ",
    '."',
    "?)",
    " ",
    "\n",
    "\n ",
    "a",
    "A. ",
    "1. ",
    "z. B. ",
    "[1",
    ".[1, ",
    "#",
    "=\n",
    "A\n",
    "。",
    "§ ",
    "« ",
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_of_anything_is_split_in_linear_time(unit: str) -> None:
    """Twice the text is twice the calls of functions; and a megabyte is done at all, which what is quadratic is not."""

    def calls(length: int) -> int:
        text, count = (unit * length)[:length], 0

        def noticed(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(noticed)
        try:
            sentence_starts(text)
        finally:
            sys.setprofile(None)
        return count

    calls(100)  # the lists of abbreviations are made once
    assert calls(40_000) <= 2.2 * calls(20_000) + 100
    starts = sentence_starts((unit * 1_000_000)[:1_000_000])
    assert starts[0] == 0
    assert starts[-1] < 1_000_000

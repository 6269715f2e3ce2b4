"""Words by where their tokens stand, for every kind of tokenizer."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.text.words import LONGEST_WORD, first_of_word
from longdoc.types import Document
from tokenizer_kit import wrapped

KINDS = ("wordpiece", "byte_level", "byte_level_prefix", "unigram_nfkc", "unigram_nfc_first")


def words_of(tokenizer: DocumentTokenizer, text: str) -> list[str]:
    """The text of each word, from the first token's start to the last token's end; tokens of white space left out."""
    tokenized = tokenizer.tokenize(Document(id="1", text=text))
    first = first_of_word(text, tokenized.offsets)
    found = []
    for number in np.unique(first):
        offsets = tokenized.offsets[first == number]
        found.append(text[offsets[:, 0].min() : offsets[:, 1].max()])
    return [word for word in found if not word.isspace()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_is_what_stands_between_white_space(kind: str) -> None:
    text = "Incompatible  of\nquick foxes,\tit's (naïve)."
    assert words_of(wrapped(kind), text) == text.split()


@pytest.mark.parametrize("kind", KINDS)
def test_cjk_characters_are_words_of_their_own(kind: str) -> None:
    assert words_of(wrapped(kind), "see 文中 テの!") == ["see", "文", "中", "テ", "の", "!"]


def test_tokens_that_share_a_character_stay_together() -> None:
    tokenizer = wrapped("byte_level_no_merges")  # one token a byte: three for each of these
    first = first_of_word("中文", tokenizer.tokenize(Document(id="1", text="中文")).offsets)
    assert first.tolist() == [0, 0, 0, 3, 3, 3]


def test_a_run_without_spaces_is_cut() -> None:
    tokenizer = wrapped("byte_level_no_merges")
    text = "a" * (2 * LONGEST_WORD + 3)
    first = first_of_word(text, tokenizer.tokenize(Document(id="1", text=text)).offsets)
    assert np.unique(first, return_counts=True)[1].tolist() == [LONGEST_WORD, LONGEST_WORD, 3]


@pytest.mark.parametrize("tokens", [0, 1])
def test_texts_of_hardly_a_token(tokens: int) -> None:
    offsets = np.array([[0, 1]] * tokens, dtype=np.int32).reshape(tokens, 2)
    assert first_of_word("a", offsets).tolist() == [0] * tokens


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["lorem", "x", "it's", "42", "(y)", "Größe"]), min_size=1, max_size=30), st.data())
def test_whatever_the_spaces(words: list[str], data: st.DataObject) -> None:
    spaces = [data.draw(st.sampled_from([" ", "\n", "\u00a0", " \t "])) for _ in words]
    text = "".join(space + word for space, word in zip(spaces, words, strict=True))
    kind = data.draw(st.sampled_from(KINDS))
    assert words_of(wrapped(kind), text) == re.split(r"\s+", text.strip())

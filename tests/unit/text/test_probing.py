"""What is found out about a tokenizer by trying it."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken, Tokenizer, models

from longdoc.text.cutting import CUT_RULES
from longdoc.text.probing import split_specials
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document
from tokenizer_kit import CORPUS, KINDS, NAMES, across_words, byte_level, wrapped

SPACE, LINE, IDEOGRAPHS = CUT_RULES.values()
CUT_BY = {
    "wordpiece": {SPACE, LINE, IDEOGRAPHS},
    "byte_level": {SPACE, LINE},
    "byte_level_prefix": {SPACE},
    "byte_level_no_merges": {SPACE, LINE, IDEOGRAPHS},
    "byte_level_prefix_no_merges": {SPACE},
    "unigram_nfkc": {SPACE},
    "unigram_nfc_first": {SPACE},
    "word_level": {SPACE, LINE},
    "word_level_nfc": {SPACE, LINE},
    "word_level_nfkc": {SPACE, LINE},
    "word_level_lowercase": {SPACE, LINE},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_rules_that_hold_for_each_kind_of_tokenizer(kind: str) -> None:
    tokenizer = wrapped(kind)
    assert tokenizer.segmented
    assert set(tokenizer._cut_pattern.pattern.split("|")) == CUT_BY[kind]  # type: ignore[union-attr]


def test_a_tokenizer_whose_tokens_reach_over_spaces_is_never_cut() -> None:
    tokenizer = DocumentTokenizer(across_words().to_str(), NAMES)
    assert not tokenizer.segmented
    text = "of the end\nof the day 中文 " * 4000
    assert len(list(tokenizer.segments(text))) == 1


@pytest.mark.parametrize("phrase", ["over the lazy", "zero in"])
def test_a_single_token_that_reaches_over_a_space_is_found_in_the_vocabulary(phrase: str) -> None:
    """No word of the probe text tells that this phrase is one token."""
    letters = sorted(set("".join(CORPUS) + phrase))
    merges: list[tuple[str, str]] = []
    for letter in phrase[1:]:
        merges.append((phrase[: len(merges) + 1], letter))
    vocabulary = ["<unk>", *letters, *("".join(merge) for merge in merges)]
    numbers = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    tokenizer = Tokenizer(models.BPE(numbers, merges, unk_token="<unk>"))
    pattern = DocumentTokenizer(tokenizer.to_str())._cut_pattern
    assert pattern is not None
    assert CUT_RULES[" "] not in pattern.pattern
    assert CUT_RULES["\n"] in pattern.pattern


@pytest.mark.parametrize(("flags", "holds"), [({}, True), ({"lstrip": True}, True), ({"rstrip": True}, False)])
def test_an_added_token_that_swallows_the_space_after_it_forbids_to_cut_there(
    flags: dict[str, bool], holds: bool
) -> None:
    tokenizer = byte_level(prefix_space=False)
    tokenizer.add_tokens([AddedToken("<page>", normalized=False, **flags)])
    pattern = DocumentTokenizer(tokenizer.to_str(), NAMES)._cut_pattern
    assert (pattern is not None and SPACE in pattern.pattern) == holds


SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("kind", "n_words"),
    [("wordpiece", 2), ("word_level", 2), ("word_level_nfkc", 2), ("unigram_nfkc", 2)],
)
@pytest.mark.parametrize("separator", SEPARATORS)
def test_separators_that_would_be_lost_separate(kind: str, n_words: int, separator: str) -> None:
    tokenizer = wrapped(kind)
    text = f"quick{separator}brown"
    apart, spaced = (tokenizer.tokenize(Document("d", each)) for each in (text, "quick brown"))
    assert apart.token_ids.tolist() == spaced.token_ids.tolist()
    assert apart.offsets.tolist() == spaced.offsets.tolist()


def test_separators_that_a_tokenizer_has_tokens_for_are_left_alone() -> None:
    tokenizer = wrapped("byte_level_no_merges")
    ids = tokenizer.tokenize(Document("d", "a\x0cb a b")).token_ids.tolist()
    assert ids[1] != ids[4]
    assert "\x0c" not in tokenizer._shown_as


@pytest.mark.parametrize(
    ("full", "body", "found"),
    [
        ([101, 7, 102], [7], ((101,), (102,))),
        ([7], [7], ((), ())),
        ([7, 8, 1], [7, 8], ((), (1,))),
        ([5, 6, 7, 8, 1, 2], [7, 8], ((5, 6), (1, 2))),
        ([101, 102], [], None),
        ([101, 9, 102], [7], None),
    ],
)
def test_specials_are_what_stands_around_the_body(
    full: list[int], body: list[int], found: tuple[tuple[int, ...], tuple[int, ...]] | None
) -> None:
    assert split_specials(full, body) == found

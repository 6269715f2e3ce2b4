"""Public bug reports about text that is never read, with the values that are right, as far as tokens and chunks go."""

from __future__ import annotations

import pytest

from longdoc.text.chunking import ChunkingConfig, prepare
from longdoc.types import Document
from tokenizer_kit import KINDS, toy, wrapped

WORDS = ["lorem"] * 1500
PLACES = {"last": (9000, 9009), "first": (0, 9), "middle": (4500, 4509)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_b013_a_marker_is_in_the_core_of_a_chunk_wherever_it_stands(place: str, kind: str) -> None:
    number = {"last": 1500, "first": 0, "middle": 750}[place]
    text = " ".join([*WORDS[:number], "MARKER-77", *WORDS[number:]])
    start, end = PLACES[place]
    assert text[start:end] == "MARKER-77"
    tokenizer = wrapped(kind)
    tokenized = tokenizer.tokenize(Document("d", text))
    chunks = ChunkingConfig(size=64, overlap=16).build(tokenizer).chunks(tokenized)
    owned = [
        tuple(tokenized.offsets[token])
        for chunk in chunks
        for token in range(*chunk.core)
        if start <= tokenized.offsets[token, 0] and tokenized.offsets[token, 1] <= end
    ]
    assert (min(first for first, _ in owned), max(last for _, last in owned)) == (start, end)
    assert len({token for chunk in chunks for token in range(*chunk.core)}) == len(tokenized)


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "unigram_nfkc", "word_level"])
def test_b014_words_without_a_piece_shift_no_other_word(kind: str) -> None:
    words = [f"w{number:03}" for number in range(700)]
    words[300], words[650] = "\u200b", "\ufe0f"
    starts = [sum(len(word) + 1 for word in words[:number]) for number in range(700)]
    tokenized = wrapped(kind).tokenize(Document("d", " ".join(words)))
    reached: dict[int, set[int]] = {number: set() for number in range(700)}
    number_at = {place: n for n, start in enumerate(starts) for place in range(start, start + len(words[n]))}
    for start, end in tokenized.offsets.tolist():
        for place in range(start, end):
            if place in number_at:
                reached[number_at[place]].add(place - starts[number_at[place]])
    for number, word in enumerate(words):
        if number not in (300, 650):
            assert reached[number] == set(range(len(word))), number
    if kind == "wordpiece":
        assert reached[300] == reached[650] == set()


def test_b015_a_long_word_that_becomes_unknown_is_flagged() -> None:
    tokenized = wrapped("wordpiece").tokenize(Document("d", "acgt" * 30))
    assert (len(tokenized), tokenized.unknown_characters, tokenized.unknown_share) == (1, 120, 1.0)
    assert tokenized.offsets.tolist() == [[0, 120]]


@pytest.mark.parametrize("letters", [500_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
def test_b015_millions_of_letters_are_flagged_in_bounded_time(letters: int) -> None:
    tokenizer = wrapped("wordpiece")
    prepared = prepare(Document("d", "x" * letters), tokenizer, ChunkingConfig().build(tokenizer))
    assert (prepared.n_tokens, prepared.n_chunks, prepared.characters) == (1, 1, letters)
    assert prepared.unknown_share == 1.0


def test_b015_a_tokenizer_that_knows_letters_makes_many_chunks_of_them() -> None:
    tokenizer = wrapped("byte_level_no_merges")
    prepared = prepare(Document("d", "acgt" * 5000), tokenizer, ChunkingConfig().build(tokenizer))
    assert (prepared.n_tokens, prepared.n_chunks, prepared.unknown_share) == (20_000, 53, 0.0)


def test_the_toy_reads_everything_too() -> None:
    prepared = prepare(Document("d", " ".join(WORDS)), toy(), ChunkingConfig().build(toy()))
    assert (prepared.n_tokens, prepared.tokens_read) == (1500, 1500)

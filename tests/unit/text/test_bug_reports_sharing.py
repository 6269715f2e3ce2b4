"""Public bug reports about tokenizers that are shared, cached and misled, with the behaviour that is right."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from longdoc.text.chunking import ChunkingConfig, prepare
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document
from tokenizer_kit import NAMES, raw, word_level, wrapped


def test_b099_sixteen_threads_share_a_tokenizer_with_two_chunk_settings() -> None:
    tokenizer = wrapped("wordpiece")
    settings = [ChunkingConfig(size=32, overlap=8), ChunkingConfig(size=64, overlap=0)]
    documents = [Document(f"d{number}", "The lazy dog isn't naïve ☃. " * (1 + number)) for number in range(50)]

    def one(task: tuple[int, int]) -> tuple[int, list[list[int]]]:
        thread, number = task
        chunker = settings[(thread + number) % 2].build(tokenizer)
        prepared = prepare(documents[number], tokenizer, chunker)
        return prepared.n_chunks, [chunk.token_ids.tolist() for chunk in prepared.chunks]

    tasks = [(thread, number) for number in range(50) for thread in range(16)]
    serial = {(thread % 2, number): one((thread, number)) for number in range(50) for thread in range(2)}
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, tasks))
    assert len(found) == 800
    assert all(answer == serial[thread % 2, number] for (thread, number), answer in zip(tasks, found, strict=True))


def test_b102_use_does_not_change_the_fingerprint() -> None:
    tokenizer = DocumentTokenizer(raw("byte_level").to_str(), NAMES)
    before = tokenizer.fingerprint
    chunker = ChunkingConfig(size=16, overlap=4).build(tokenizer)
    prepare(Document("d", "some text " * 99), tokenizer, chunker)
    again = DocumentTokenizer(raw("byte_level").to_str(), NAMES)
    assert before == tokenizer.fingerprint == again.fingerprint


def test_b103_another_tokenizer_has_another_fingerprint() -> None:
    kinds = [wrapped(kind).fingerprint for kind in ("byte_level", "byte_level_prefix", "word_level_lowercase")]
    other_word = DocumentTokenizer(word_level(words=("x",)).to_str()).fingerprint
    assert len({*kinds, other_word, wrapped("word_level").fingerprint}) == 5


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "byte_level_no_merges", "unigram_nfkc"])
def test_b104_literal_control_tokens_are_ordinary_text(kind: str) -> None:
    text = "x [SEP] y [PAD] z </s> [MASK] <mask> <pad> <s> [CLS]"
    tokenizer = wrapped(kind)
    tokenized = tokenizer.tokenize(Document("d", text))
    control = {*tokenizer.lead, *tokenizer.trail, tokenizer.pad_id, raw(kind).token_to_id("<mask>"), 103}
    if kind != "wordpiece":
        control.discard(103)
    assert not control & set(tokenized.token_ids.tolist())
    for letter, place in (("y", 8), ("z", 16)):
        assert text[place] == letter
        touching = [offset for offset in tokenized.offsets.tolist() if offset[0] <= place < offset[1]]
        assert {tuple(offset) for offset in touching} == {(place, place + 1)}
    [chunk] = ChunkingConfig(size=200, overlap=4).build(tokenizer).chunks(tokenized)
    ids = chunk.token_ids.tolist()
    assert tuple(ids[:1]) == tokenizer.lead
    assert tuple(ids[-1:]) == tokenizer.trail
    assert len(ids) == len(tokenized) + 2

"""Public bug reports about chunk planning, with the values that are right."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.text.chunking import ChunkingConfig, chunk_body, plan_chunks, plan_cores
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document, Span
from tokenizer_kit import toy, word_level

SETTINGS = ChunkingConfig(size=16, overlap=4)


def spans(n_words: int, settings: ChunkingConfig = SETTINGS) -> list[Span]:
    document = Document("d", " ".join(f"w{number}" for number in range(n_words)))
    return [chunk.span for chunk in settings.build(toy()).chunks(toy().tokenize(document))]


@pytest.mark.parametrize("n_words", range(1, 61))
def test_b002_the_end_of_the_document_is_in_a_chunk(n_words: int) -> None:
    found = spans(n_words)
    assert {token for start, end in found for token in range(start, end)} == set(range(n_words))
    assert found[-1].end == n_words


def test_b002_the_last_word_itself_is_in_the_last_chunk() -> None:
    words = tuple(f"w{number}" for number in range(60))
    tokenizer = DocumentTokenizer(word_level(words=(*words, "TAIL")).to_str())
    tail = tokenizer.tokenize(Document("d", "TAIL")).token_ids[0]
    for n_words in range(1, 61):
        document = Document("d", " ".join([*words[: n_words - 1], "TAIL"]))
        chunks = SETTINGS.build(tokenizer).chunks(tokenizer.tokenize(document))
        assert [int((chunk.token_ids == tail).sum()) for chunk in chunks][-1] == 1


def test_b003_overlap_is_what_neighbours_share_and_not_the_step() -> None:
    found = spans(100)
    assert len(found) == 10
    assert found[:2] == [(0, 14), (10, 24)]
    assert found[-1] == (90, 100)
    assert all(left.end - right.start == 4 for left, right in pairwise(found))


def test_b004_an_overlap_of_seven_works() -> None:
    found = spans(40, ChunkingConfig(size=10, overlap=7))
    assert len(found) == 33
    assert [span.start for span in found] == list(range(33))
    assert len(spans(5, ChunkingConfig(size=10, overlap=7))) == 1


@pytest.mark.parametrize("overlap", [8, 9, 10, -1])
def test_b004_other_overlaps_are_refused_while_the_configuration_is_read(overlap: int) -> None:
    sentence = (
        f"`overlap` must be in [0, 7] for chunks of `size` 10 with 2 special tokens, but is {overlap} instead. "
        f"Change `overlap`, or raise `size`."
    )
    with pytest.raises(ValidationError) as caught:
        ChunkingConfig.model_validate_json(json.dumps({"size": 10, "overlap": overlap}))
    [error] = caught.value.errors()
    assert error["msg"] == f"Value error, {sentence}"
    assert isinstance(caught.value, Exception)


def test_b006_planning_ends() -> None:
    assert spans(25) == [(0, 14), (10, 24), (20, 25)]


def test_b008_chunks_come_in_text_order() -> None:
    document = Document("d", " ".join(f"w{number}" for number in range(30)))
    tokenized = toy().tokenize(document)
    texts = [
        document.text[tokenized.offsets[chunk.span.start, 0] : tokenized.offsets[chunk.span.end - 1, 1]]
        for chunk in SETTINGS.build(toy()).chunks(tokenized)
    ]
    words = [[f"w{number}" for number in range(start, end)] for start, end in [(0, 14), (10, 24), (20, 30)]]
    assert [text.split() for text in texts] == words


@pytest.mark.parametrize(("overlap", "expected"), [(32, [(0, 114), (82, 157)]), (0, [(0, 114), (114, 157)])])
def test_b009_a_prefix_shrinks_the_body_and_leaves_no_holes(overlap: int, expected: list[tuple[int, int]]) -> None:
    body = chunk_body(size=128, specials=3, overlap=overlap, prefix_tokens=11)
    assert body == 114
    assert plan_chunks(157, body, overlap) == expected


def test_b010_a_prefix_may_leave_room_for_one_token() -> None:
    body = chunk_body(size=128, specials=3, prefix_tokens=124)
    found = plan_chunks(130, body, 0)
    assert len(found) == 130
    assert all(124 + 3 + end - start <= 128 for start, end in found)


@pytest.mark.parametrize("prefix", [125, 126])
def test_b010_a_prefix_that_leaves_no_room_is_refused(prefix: int) -> None:
    with pytest.raises(UsageError, match="the prefix leaves no room"):
        chunk_body(size=128, specials=3, prefix_tokens=prefix)


def test_b035_a_word_in_an_overlap_belongs_where_its_context_is_widest() -> None:
    found = SETTINGS.build(toy()).chunks(toy().tokenize(Document("d", " ".join("x" * 24))))
    assert [chunk.span for chunk in found] == [(0, 14), (10, 24)]
    owner = [chunk.ordinal for chunk in found for _ in range(*chunk.core)]
    assert owner == [0] * 12 + [1] * 12  # 10 and 11 from the first, 12 and 13 from the second; 24 labels, not 28


def test_b037_each_word_counts_once_in_a_document_mean() -> None:
    chunks = plan_chunks(15, 14, 4)
    assert chunks == [(0, 14), (10, 15)]
    cores = plan_cores(chunks)
    means = [sum(range(start, end)) / (end - start) for start, end in cores]
    weights = [end - start for start, end in cores]
    assert sum(mean * weight for mean, weight in zip(means, weights, strict=True)) / sum(weights) == 7.0

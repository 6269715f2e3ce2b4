"""Pairs of texts in one row: as the tokenizer itself puts them, with its token types."""

from __future__ import annotations

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from answer_kit import tokenizer as toy_pairs
from longdoc.errors import UsageError
from longdoc.text.batching import collate
from longdoc.text.chunking import ChunkingConfig, PreparedDocument
from longdoc.text.pairs import find_pair_template
from longdoc.text.questions import prepare_questions
from longdoc.types import Document, DocumentFailure, Span
from tokenizer_kit import raw, wrapped

QUESTION, TEXT = "Who jumps over the dog?", "The quick brown fox jumps over the lazy dog. It's 42 o'clock, isn't it?"


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level"])
def test_a_row_is_what_the_tokenizer_makes_of_the_pair(kind: str) -> None:
    tokenizer = wrapped(kind)
    chunker = ChunkingConfig(size=512, overlap=16).build(tokenizer)
    (prepared,) = prepare_questions([Document("d", TEXT, question=f" {QUESTION}\n")], tokenizer, chunker)
    assert isinstance(prepared, PreparedDocument)
    (chunk,) = prepared.chunks
    theirs = PreTrainedTokenizerFast(tokenizer_object=raw(kind))(QUESTION, TEXT, return_token_type_ids=True)
    assert chunk.token_ids.tolist() == theirs["input_ids"]
    types = [0] * len(chunk) if chunk.token_types is None else chunk.token_types.tolist()
    assert types == theirs["token_type_ids"]
    assert chunk.lead == theirs.sequence_ids(0).index(1)
    assert prepared.tokens.question == f" {QUESTION}\n"


def test_templates() -> None:
    bert, roberta, none = (wrapped(kind).pair for kind in ("wordpiece", "byte_level", "word_level"))
    assert (bert.lead, bert.between, bert.trail) == ((101,), (102,), (102,))
    assert bert.types(2) == ((0, 0, 0, 0), 1, (1,))
    assert (roberta.between, roberta.specials, roberta.types(5)) == ((1, 1), 4, None)
    assert none.lead == ()
    swapped = [(1, 0, None), (7, 1, 1), (2, 0, None), (8, 0, 0)]
    assert find_pair_template(lambda first, second: swapped) is None
    assert find_pair_template(lambda first, second: []) is None


def test_the_question_takes_its_room_from_every_chunk_and_no_token_is_left_out() -> None:
    """Handed case B009: a prefix of 11 tokens and 3 specials in chunks of 128 leave 114, for a text of 157 tokens."""
    tokenizer = toy_pairs()
    document = Document("d", "out " * 157, question="who " * 11)
    for overlap, expected in ((32, [(0, 114), (82, 157)]), (0, [(0, 114), (114, 157)])):
        chunker = ChunkingConfig(size=128, overlap=overlap).build(tokenizer)
        (prepared,) = prepare_questions([document], tokenizer, chunker)
        assert [tuple(chunk.span) for chunk in prepared.chunks] == expected
        assert prepared.tokens_read == prepared.n_tokens == 157


def test_types_of_a_batch_are_those_of_its_chunks_and_zero_in_padding() -> None:
    tokenizer = toy_pairs()
    chunker = ChunkingConfig(size=16, overlap=2).build(tokenizer)
    (prepared,) = prepare_questions([Document("d", "out " * 15, question="who out out")], tokenizer, chunker)
    chunks = list(prepared.chunks)
    batch = collate(chunks, [0] * len(chunks), 1, tokenizer.pad_id, rows=len(chunks) + 1, length=20)
    expected = np.zeros((len(chunks) + 1, 20), dtype=np.int64)
    for row, chunk in enumerate(chunks):
        expected[row, chunk.lead : len(chunk)] = 1
    assert batch.token_types.tolist() == expected.tolist()
    assert batch.to("cpu").token_types.tolist() == expected.tolist()
    assert collate([chunks[0]], [0], 1, 0).token_types is not None
    plain = list(chunker.chunks(tokenizer.tokenize(Document("d", "out " * 3))))
    assert collate(plain, [0], 1, 0).token_types is None
    mixed = collate([*plain, chunks[0]], [0, 0], 1, 0)
    assert mixed.token_types[0].sum() == 0


def test_questions_that_are_missing_or_too_long_are_failures_in_their_places() -> None:
    tokenizer = toy_pairs()
    chunker = ChunkingConfig(size=16, overlap=3).build(tokenizer)
    documents = [
        Document("a", "out dog", question="who"),
        Document("b", "out dog"),
        Document("c", "out dog", question=" \n"),
        Document("d", "out dog", question="who " * 9),
        Document("e", "out dog", question="who " * 10),
        Document("f", "  ", question="who"),
    ]
    found = prepare_questions(documents, tokenizer, chunker)
    assert [item.id for item in found] == list("abcdef")
    failures = {item.id: item for item in found if isinstance(item, DocumentFailure)}
    assert {name: failure.reason for name, failure in failures.items()} == {
        "b": "empty", "c": "empty", "e": "too_large", "f": "empty",
    }  # fmt: skip
    assert failures["c"].detail == failures["b"].detail
    assert failures["b"].detail == (
        "The document must have a question, but has none. Name the column that holds it in `read.fields.question`, "
        "or pass `question`."
    )
    assert failures["e"].detail == (
        "The question must have at most 9 tokens in chunks of 16 that share 3, but has 10. Ask it shorter, lower "
        "`chunking.overlap`, or raise `chunking.size`."
    )
    assert {failure.stage for failure in failures.values()} == {"tokenize"}
    with pytest.raises(UsageError):
        chunker.with_question(tokenizer.pair, [7] * 10)


def test_one_text_with_several_questions_keeps_the_ids_apart() -> None:
    tokenizer = toy_pairs()
    chunker = ChunkingConfig(size=16, overlap=3).build(tokenizer)
    documents = [Document(str(n), "out cat mouse", question="who " * n) for n in (1, 2, 3)]
    found = prepare_questions(documents, tokenizer, chunker)
    assert [[chunk.doc_id for chunk in item.chunks] for item in found] == [["1"], ["2"], ["3"]]
    assert [next(iter(item.chunks)).lead for item in found] == [3, 4, 5]
    assert [item.tokens.chunks for item in found] == [((Span(0, 3), Span(0, 3)),)] * 3

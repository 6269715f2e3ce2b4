"""Chunks of a document: what is in them, which are kept, and how documents are prepared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from longdoc.errors import DocumentError, UsageError
from longdoc.text.chunking import (
    Chunker,
    ChunkingConfig,
    Keep,
    PreparedDocument,
    plan_chunks,
    plan_cores,
    prepare,
    prepare_many,
)
from longdoc.text.tokenizing import BATCH_CHARACTERS, PIECE_CHARACTERS
from longdoc.types import Chunk, Document, DocumentFailure, TokenizedDocument
from reference.chunking_reference import plan_chunks_slowly
from tokenizer_kit import toy, wrapped

LEAD, TRAIL = (901,), (902, 903)


def tokenized(n_tokens: int, identity: str = "d") -> TokenizedDocument:
    """Token number i has the id 1000 + i, so that every chunk says what it holds."""
    places = np.arange(n_tokens, dtype=np.int32)
    return TokenizedDocument(identity, places + 1000, np.stack([places, places + 1], axis=1), n_tokens)


def words(n_words: int) -> str:
    return " ".join(f"w{number}" for number in range(n_words))


def same(left: Chunk, right: Chunk) -> bool:
    return (left.doc_id, left.ordinal, left.total, left.span, left.core, left.lead) == (
        right.doc_id,
        right.ordinal,
        right.total,
        right.span,
        right.core,
        right.lead,
    ) and np.array_equal(left.token_ids, right.token_ids)


@given(n_tokens=st.integers(0, 120), size=st.integers(4, 30), data=st.data())
@settings(deadline=None, max_examples=200)
def test_each_chunk_holds_its_span_between_the_specials(n_tokens: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 4))
    chunker = Chunker(size, overlap, LEAD, TRAIL)
    chunks = chunker.chunks(tokenized(n_tokens))
    assert [tuple(chunk.span) for chunk in chunks] == plan_chunks_slowly(n_tokens, size - 3, overlap)
    assert [tuple(chunk.core) for chunk in chunks] == plan_cores([tuple(chunk.span) for chunk in chunks])
    assert [chunk.ordinal for chunk in chunks] == list(range(chunker.count(n_tokens)))
    for chunk in chunks:
        expected = [901, *range(1000 + chunk.span.start, 1000 + chunk.span.end), 902, 903]
        assert chunk.token_ids.tolist() == expected
        assert chunk.token_ids.dtype == np.int32
        assert (chunk.doc_id, chunk.total, chunk.lead) == ("d", len(chunks), 1)
        assert len(chunk) <= size
    assert chunker.tokens_read(n_tokens) == n_tokens


@given(
    n_tokens=st.integers(0, 120),
    keep=st.sampled_from(["all", "head", "tail", "head_tail"]),
    edges=st.lists(st.integers(0, 120), max_size=12).map(sorted),
)
@settings(deadline=None, max_examples=200)
def test_chunks_from_blocks_equal_chunks_from_the_whole(n_tokens: int, keep: Keep, edges: list[int]) -> None:
    chunker = Chunker(12, 3, LEAD, TRAIL, keep)
    document = tokenized(n_tokens)
    blocks = [document.token_ids[start:end] for start, end in pairwise([0, *edges, n_tokens])]
    expected = chunker.chunks(document)
    streamed = list(chunker.stream("d", n_tokens, iter(blocks)))
    assert len(streamed) == len(expected)
    assert all(map(same, streamed, expected))


@pytest.mark.parametrize(
    ("keep", "spans", "cores", "read"),
    [
        ("all", [(0, 9), (6, 15), (12, 21), (18, 25)], [(0, 8), (8, 14), (14, 20), (20, 25)], 25),
        ("head", [(0, 9)], [(0, 9)], 9),
        ("tail", [(16, 25)], [(16, 25)], 9),
        ("head_tail", [(0, 9), (18, 25)], [(0, 9), (18, 25)], 16),
    ],
)
def test_kept_chunks_answer_for_all_that_was_read(
    keep: Keep, spans: list[tuple[int, int]], cores: list[tuple[int, int]], read: int
) -> None:
    chunker = Chunker(12, 3, LEAD, TRAIL, keep)
    chunks = chunker.chunks(tokenized(25))
    assert [chunk.span for chunk in chunks] == spans
    assert [chunk.core for chunk in chunks] == cores
    assert [(chunk.ordinal, chunk.total) for chunk in chunks] == [(n, len(spans)) for n in range(len(spans))]
    assert (chunker.count(25), chunker.kept(25), chunker.tokens_read(25)) == (4, len(spans), read)


@pytest.mark.parametrize(("n_tokens", "read"), [(0, 0), (5, 5), (9, 9), (14, 14), (15, 15), (16, 13)])
def test_head_and_tail_of_up_to_two_chunks_read_everything(n_tokens: int, read: int) -> None:
    chunker = Chunker(12, 3, LEAD, TRAIL, "head_tail")
    assert chunker.tokens_read(n_tokens) == read
    held = {token for chunk in chunker.chunks(tokenized(n_tokens)) for token in range(*chunk.span)}
    assert len(held) == read


def test_only_as_many_blocks_are_read_as_are_needed() -> None:
    def blocks() -> Iterator[np.ndarray]:
        yield np.arange(20, dtype=np.int32)
        raise AssertionError("the second block is not needed for the head")

    [chunk] = Chunker(12, 3, LEAD, TRAIL, "head").stream("d", 1000, blocks())
    assert chunk.span == (0, 9)


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [
        (2, 0, "`size` must be at least 4 for chunks with 3 special tokens, but is 2 instead. Raise `size`."),
        (
            12,
            9,
            "`overlap` must be in [0, 8] for chunks of `size` 12 with 3 special tokens, but is 9 instead. "
            "Change `overlap`, or raise `size`.",
        ),
    ],
)
def test_a_chunker_refuses_sizes_that_do_not_fit(size: int, overlap: int, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        Chunker(size, overlap, LEAD, TRAIL)


class TestChunkingConfig:
    def test_defaults(self) -> None:
        config = ChunkingConfig()
        assert (config.size, config.overlap, config.keep) == (512, 128, "all")
        chunker = config.build(toy())
        assert (chunker.size, chunker.body, chunker.overlap, chunker.keep) == (512, 510, 128, "all")

    def test_what_is_built_has_the_specials_of_the_tokenizer(self) -> None:
        tokenizer = wrapped("byte_level")
        [chunk] = ChunkingConfig(size=16, overlap=4).build(tokenizer).chunks(tokenized(3))
        assert chunk.token_ids.tolist() == [*tokenizer.lead, 1000, 1001, 1002, *tokenizer.trail]

    def test_the_tokenizers_own_specials_are_checked_when_it_is_built(self) -> None:
        class ThreeSpecials:
            lead, trail = LEAD, TRAIL

        config = ChunkingConfig(size=10, overlap=7)
        with pytest.raises(UsageError, match=r"^`overlap` must be in \[0, 6\] for chunks of `size` 10 with 3 special"):
            config.build(ThreeSpecials())  # type: ignore[arg-type]

    @pytest.mark.parametrize("wrong", [{"size": 0}, {"size": 2, "overlap": 0}, {"keep": "middle"}, {"stride": 4}])
    def test_other_nonsense_is_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(ValidationError):
            ChunkingConfig(**wrong)


class TestPrepare:
    def test_a_short_document_is_counted_and_cut(self) -> None:
        prepared = prepare(Document("d", words(25)), toy(), Chunker(11, 3, toy().lead, toy().trail))
        chunks = list(prepared.chunks)
        assert (prepared.id, prepared.n_tokens, prepared.n_chunks, prepared.tokens_read) == ("d", 25, 4, 25)
        assert (prepared.unknown_share, prepared.characters) == (65 / 89, 89)
        assert [chunk.span for chunk in chunks] == plan_chunks(25, 9, 3)
        assert repr(prepared) == "PreparedDocument(id=#18ac3e7343f0, tokens=25, chunks=4)"

    @pytest.mark.parametrize("keep", ["all", "head", "tail", "head_tail"])
    @pytest.mark.parametrize("kind", ["byte_level", "unigram_nfkc", "word_level"])
    def test_a_long_document_gives_the_same_lazily(
        self, kind: str, keep: Keep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 50)
        tokenizer = wrapped(kind)
        chunker = Chunker(16, 4, tokenizer.lead, tokenizer.trail, keep)
        document = Document("d", "It's 42 o'clock → 😀 naïve 中文. " * 30)
        at_once = prepare(document, tokenizer, chunker)
        lazily = prepare(document, tokenizer, chunker, lazy_above=100)
        assert isinstance(at_once.chunks, list)
        assert not isinstance(lazily.chunks, list)
        for name in ("n_tokens", "n_chunks", "tokens_read", "unknown_share", "characters"):
            assert getattr(at_once, name) == getattr(lazily, name)
        chunks = list(lazily.chunks)
        assert len(chunks) == lazily.n_chunks == len(at_once.chunks)
        assert all(map(same, at_once.chunks, chunks))
        assert sum(chunk.core.end - chunk.core.start for chunk in chunks) == lazily.tokens_read

    def test_what_is_prepared_agrees_with_what_is_tokenized(self) -> None:
        tokenizer = wrapped("wordpiece")
        document = Document("d", "Naïve ☃ café 😀, it's 42. " * 40)
        full = tokenizer.tokenize(document)
        chunker = Chunker(64, 16, tokenizer.lead, tokenizer.trail)
        prepared = prepare(document, tokenizer, chunker)
        assert prepared.n_tokens == len(full)
        assert prepared.unknown_share == full.unknown_share > 0
        assert all(map(same, prepared.chunks, chunker.chunks(full)))

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("", "is empty"),
            (" ", "has 1 character, white space or invisible"),
            (" \n\t ", "has 4 characters, white space or invisible"),
            ("\u200b\ufeff", "has 2 characters, white space or invisible"),
            ("\u0301\u0302", "has 2 characters, white space or invisible"),
            ("\x0c\x00\x1b", "has 3 characters, white space or invisible"),
            ("\u2028 \u00ad", "has 3 characters, white space or invisible"),
        ],
    )
    @pytest.mark.parametrize("kind", ["wordpiece", "byte_level", "unigram_nfkc"])
    def test_nothing_to_read_is_empty_for_every_tokenizer(self, text: str, found: str, kind: str) -> None:
        tokenizer = wrapped(kind)
        message = (
            f"The text must have something to read, but {found}. Leave the document out, or look at how it was read."
        )
        with pytest.raises(DocumentError, match=f"^{re.escape(message)}$") as caught:
            prepare(Document("d", text), tokenizer, Chunker(16, 4, tokenizer.lead, tokenizer.trail))
        assert (caught.value.reason, caught.value.stage) == ("empty", "tokenize")

    @pytest.mark.parametrize("text", ["x", "\n.", "\u00ad7", "\ue000", "→", "中"])
    def test_one_visible_character_is_enough(self, text: str) -> None:
        tokenizer = wrapped("byte_level")
        assert prepare(Document("d", text), tokenizer, Chunker(16, 4, tokenizer.lead, tokenizer.trail)).n_tokens > 0

    def test_many_at_once_equal_one_by_one(self) -> None:
        tokenizer = wrapped("byte_level")
        chunker = Chunker(64, 16, tokenizer.lead, tokenizer.trail)
        lengths = [1, 40, 5000, PIECE_CHARACTERS // 2, BATCH_CHARACTERS // 3, 3]
        documents = [Document(f"d{number}", words(length)) for number, length in enumerate(lengths)]
        for document, found in zip(documents, prepare_many(documents, tokenizer, chunker), strict=True):
            alone = prepare(document, tokenizer, chunker)
            assert isinstance(found, PreparedDocument)
            assert (found.id, found.n_tokens, found.n_chunks) == (document.id, alone.n_tokens, alone.n_chunks)
            assert all(map(same, found.chunks, alone.chunks))

    def test_failures_stand_in_their_places(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("longdoc.text.chunking.LAZY_ABOVE", 50)
        monkeypatch.setattr("longdoc.text.tokenizing.LARGEST_RUN", 60)
        monkeypatch.setattr("longdoc.text.tokenizing.PIECE_CHARACTERS", 20)
        texts = ["a b", "", "c" * 70, "d e " * 30]
        documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
        found = prepare_many(documents, toy(), Chunker(16, 4, toy().lead, toy().trail))
        assert [item.id for item in found] == ["d0", "d1", "d2", "d3"]
        assert [getattr(item, "reason", None) for item in found] == [None, "empty", "too_large", None]
        failure = found[1]
        assert isinstance(failure, DocumentFailure)
        assert (failure.stage, failure.error) == ("tokenize", "DocumentError")
        assert [item.n_tokens for item in found] == [2, 0, 0, 60]

    def test_one_document_that_upsets_the_tokenizer_does_not_spoil_the_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Upset:
            def __init__(self, inner: object) -> None:
                self.inner = inner

            def encode_batch_fast(self, texts: list[str], add_special_tokens: bool) -> object:
                if any("secret" in text for text in texts):
                    raise ValueError("secret is not a word")
                return self.inner.encode_batch_fast(texts, add_special_tokens=add_special_tokens)  # type: ignore[attr-defined]

            encode_batch = encode_batch_fast

        tokenizer = toy()
        monkeypatch.setattr(tokenizer, "_tokenizer", Upset(tokenizer._tokenizer))
        documents = [Document("a", "x"), Document("b", "the secret word"), Document("c", "x y")]
        first, second, third = prepare_many(documents, tokenizer, Chunker(16, 4, (1,), (2,)))
        assert isinstance(second, DocumentFailure)
        assert (second.reason, second.error) == ("unreadable", "DocumentError")
        assert second.detail == "The tokenizer must know the text or have an unknown token, but failed with ValueError."
        assert isinstance(first, PreparedDocument)
        assert isinstance(third, PreparedDocument)

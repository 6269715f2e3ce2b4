"""Borders of chunks that give way to sections, paragraphs and sentences."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from longdoc.errors import UsageError
from longdoc.text.borders import BordersConfig, border_reach, bordered_spans
from longdoc.text.chunking import Chunker, ChunkingConfig, Keep, PreparedDocument, plan_chunks, prepare, prepare_many
from longdoc.text.pairs import PairTemplate
from longdoc.text.structure import BorderRanks, text_starts
from longdoc.types import Document, TokenizedDocument
from reference.chunking_reference import bordered_chunks_slowly
from tokenizer_kit import KINDS, wrapped

BORDERS = BordersConfig()


def spans(n_tokens: int, body: int, overlap: int, ranks: list[int], tolerance: int, keep: Keep = "all") -> Any:
    found = bordered_spans(n_tokens, body, overlap, np.array(ranks, dtype=np.int8), tolerance, keep)
    return [tuple(span) for span in found]


# ----------------------------------------------------------------------------------------------------- plain numbers


@settings(deadline=None, max_examples=120)
@given(n_tokens=st.integers(0, 90), body=st.integers(1, 30), tolerance=st.integers(1, 12), data=st.data())
def test_borders_are_those_of_a_slow_loop_and_break_nothing(
    n_tokens: int, body: int, tolerance: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, body - 1))
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=n_tokens, max_size=n_tokens))
    found = spans(n_tokens, body, overlap, ranks, tolerance)
    assert found == bordered_chunks_slowly(n_tokens, body, overlap, ranks, tolerance)
    assert found[0][0] == 0
    assert found[-1][1] == n_tokens
    assert all(end - start <= body for start, end in found)
    for left, right in pairwise(found):
        assert left[0] < right[0]
        assert left[1] < right[1]
        assert overlap <= left[1] - right[0] <= overlap + border_reach(body, overlap, tolerance)
    assert len(found) <= 2 * len(plan_chunks(n_tokens, body, overlap)), "a chunk adds half of what it would, or more"
    assert spans(n_tokens, body, overlap, ranks, tolerance, "head") == found[:1]
    assert spans(n_tokens, body, overlap, ranks, tolerance, "head_tail") == found[:1] + found[1:][-1:]


@settings(deadline=None, max_examples=50)
@given(n_tokens=st.integers(0, 200), body=st.integers(1, 30), tolerance=st.integers(1, 99), data=st.data())
def test_a_text_without_borders_has_the_plain_plan(
    n_tokens: int, body: int, tolerance: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, body - 1))
    assert spans(n_tokens, body, overlap, [0] * n_tokens, tolerance) == plan_chunks(n_tokens, body, overlap)


def test_the_best_border_in_reach_is_taken_and_of_equals_the_last() -> None:
    ranks = [0] * 60
    ranks[12] = ranks[14] = 1
    assert spans(60, 16, 0, ranks, 4)[:2] == [(0, 14), (14, 30)]
    ranks[13] = 2
    assert spans(60, 16, 0, ranks, 4)[:2] == [(0, 13), (13, 29)]
    ranks[11] = 3
    assert spans(60, 16, 0, ranks, 4)[:2] == [(0, 13), (13, 29)], "out of reach"
    assert spans(60, 16, 4, ranks, 3)[:2] == [(0, 13), (9, 25)]
    ranks[7] = 1
    assert spans(60, 16, 4, ranks, 3)[:2] == [(0, 13), (7, 23)], "the overlap grows to where something begins"
    assert border_reach(16, 4, 99) == 3
    assert border_reach(16, 15, 99) == 0


def test_the_tail_begins_with_the_best_border_in_reach() -> None:
    ranks = [0] * 60
    assert spans(60, 16, 0, ranks, 4, "tail") == [(44, 60)]
    ranks[46] = ranks[47] = 1
    assert spans(60, 16, 0, ranks, 4, "tail") == [(46, 60)]
    ranks[48] = 2
    assert spans(60, 16, 0, ranks, 4, "tail") == [(48, 60)]
    assert spans(9, 16, 0, ranks[44:53], 4, "tail") == [(0, 9)]


# ------------------------------------------------------------------------------------------------- borders of a text

TEXT = """# Facts

Mr. Roe fell. He sued.

Then he lost.

3.1 Law
It is clear. Roe v. Wade holds."""


def parts(document: Document) -> dict[str, list[str]]:
    """The first word of what begins."""
    return {
        kind: [document.text[start:].split()[0] for start in starts.tolist()]
        for kind, starts in text_starts(document).items()
    }


def test_sections_paragraphs_and_sentences_of_a_text() -> None:
    assert parts(Document(id="1", text=TEXT)) == {
        "section": ["#", "3.1"],
        "paragraph": ["#", "Then", "3.1"],
        "sentence": ["#", "He", "Then", "3.1", "Roe"],
    }, "nothing begins below a heading, which stays with its text"


def test_sections_that_a_format_tells_count_instead() -> None:
    text = "Facts\n\nRoe fell. He sued.\n\nAS TO THE LAW\n\nIt is clear."
    told = Document(id="1", text=text, meta={"sections": [[0, 1]]})
    assert parts(told) == {
        "section": ["Facts"],
        "paragraph": ["Facts", "AS", "It"],
        "sentence": ["Facts", "He", "AS", "It"],
    }
    assert parts(Document(id="1", text=text, meta={"sections": "two"}))["section"] == ["AS"]


def test_a_page_may_end_inside_a_sentence() -> None:
    document = Document(id="1", text="The court\fheld so. It\n\fended.\n\fNext.")
    assert parts(document)["paragraph"] == []
    assert parts(document)["sentence"] == ["The", "It", "Next."]


WORDS = st.lists(st.sampled_from(["one", "Two.", "three.\n\n", "# Four\n", "v. ", "。", "é", "½ ", "\n"]), max_size=30)


@pytest.mark.parametrize("kind", ["wordpiece", "byte_level_no_merges", "unigram_nfkc", "word_level"])
@settings(deadline=None, max_examples=15)
@given(words=WORDS)
def test_a_token_has_the_rank_of_what_begins_with_it(kind: str, words: list[str]) -> None:
    assert kind in KINDS
    document = Document(id="1", text=" ".join(words))
    tokenizer = wrapped(kind)
    offsets = tokenizer.tokenize(document).offsets
    starts = text_starts(document)
    found = BorderRanks(document, BORDERS.prefer).of(offsets)
    slow = np.zeros(len(offsets), dtype=np.int8)
    for rank, name in enumerate(reversed(BORDERS.prefer), 1):
        for place in starts[name].tolist():
            behind = [token for token, start in enumerate(offsets[:, 0]) if start >= place]
            if behind and (behind[0] == 0 or offsets[behind[0] - 1, 1] <= place):
                slow[behind[0]] = rank
    assert found.tolist() == slow.tolist()
    piecewise = BorderRanks(document, BORDERS.prefer)
    assert np.concatenate([piecewise.of(offsets[k : k + 2]) for k in range(0, len(offsets) + 1, 2)]).tolist() == (
        found.tolist()
    )


# ----------------------------------------------------------------------------------------------------------- chunks


def tokenized(text: str) -> TokenizedDocument:
    """A token a word."""
    offsets = np.array([found.span() for found in re.finditer(r"\S+", text)], dtype=np.int32).reshape(-1, 2)
    return TokenizedDocument("d", np.arange(len(offsets), dtype=np.int32) + 1000, offsets, len(text))


def sentences(count: int) -> str:
    return " ".join(f"Word {'and so on ' * (number % 3)}it ends." for number in range(count))


@pytest.mark.parametrize("overlap", [0, 8])
def test_chunks_begin_and_end_with_sentences_and_answer_for_each_token_once(overlap: int) -> None:
    text = sentences(40)
    document, tokens = Document(id="d", text=text), tokenized(text)
    chunker = Chunker(50, overlap, (1,), (2,), borders=BORDERS)
    chunks = chunker.chunks(tokens, document)
    begins = [text[tokens.offsets[chunk.span.start, 0] :].split()[0] for chunk in chunks]
    ends = [text[: tokens.offsets[chunk.span.end - 1, 1]].split()[-1] for chunk in chunks]
    assert set(begins) == {"Word"}
    assert set(ends) == {"ends."}
    assert [token for chunk in chunks for token in range(*chunk.core)] == list(range(len(tokens)))
    assert all(len(chunk) <= 50 for chunk in chunks)
    assert max(len(chunk) for chunk in chunks) > 40
    ranks = chunker.ranks(tokens, document)
    assert chunker.kept(len(tokens), ranks) == len(chunks)
    assert chunker.tokens_read(len(tokens), ranks) == len(tokens)
    plain = Chunker(50, overlap, (1,), (2,))
    assert chunker.kept(len(tokens)) == plain.kept(len(tokens)), "before anybody has read the text"
    assert [c.span for c in plain.chunks(tokens, document)] != [c.span for c in chunks]
    assert plain.ranks(tokens, document) is None


@pytest.mark.parametrize("asked", [False, True])
def test_a_prefix_takes_its_room_and_leaves_the_borders(asked: bool) -> None:
    text = sentences(40)
    document, tokens = Document(id="d", text=text), tokenized(text)
    chunker = Chunker(50, 4, (1,), (2,), borders=BORDERS)
    pair = PairTemplate((1,), (9,), (2,), (0,), (0,), (1,), 0, 1)
    chunker = chunker.with_question(pair, [7, 8]) if asked else chunker.with_prefix([7, 8, 9])
    chunks = chunker.chunks(tokens, document)
    assert all(chunk.token_ids[:4].tolist() == [1, 7, 8, 9] for chunk in chunks)
    assert all(len(chunk) <= 50 for chunk in chunks)
    assert {text[: tokens.offsets[chunk.span.end - 1, 1]].split()[-1] for chunk in chunks} == {"ends."}


@pytest.mark.parametrize("keep", ["all", "head", "tail", "head_tail"])
@pytest.mark.parametrize("axes", [(), ("sentence",)])
def test_long_texts_are_cut_as_short_ones_are(keep: Keep, axes: tuple[Any, ...]) -> None:
    documents = [Document(id=str(n), text=sentences(10 * n) + "\n\nThe end.") for n in range(1, 5)]
    tokenizer = wrapped("wordpiece")
    chunker = ChunkingConfig(size=40, overlap=8, keep=keep, axes=axes, borders=BORDERS).build(tokenizer)
    together = prepare_many(documents, tokenizer, chunker)
    for document, many in zip(documents, together, strict=True):
        lazy, whole = prepare(document, tokenizer, chunker, lazy_above=0), prepare(document, tokenizer, chunker)
        assert isinstance(many, PreparedDocument)
        chunks = list(whole.chunks)
        for other in (lazy, many):
            assert (other.n_chunks, other.tokens_read, other.n_tokens) == (
                len(chunks),
                whole.tokens_read,
                whole.n_tokens,
            )
            for left, right in zip(other.chunks, chunks, strict=True):
                assert (left.span, left.core, left.total) == (right.span, right.core, right.total)
                assert left.token_ids.tolist() == right.token_ids.tolist()
                assert left.axes is right.axes or (left.axes == right.axes).all()


def test_without_its_text_nobody_knows_where_a_document_may_be_cut() -> None:
    with pytest.raises(UsageError) as caught:
        Chunker(50, 4, (1,), (2,), borders=BORDERS).chunks(tokenized("a b c"))
    assert str(caught.value) == (
        "`ranks` must say of each of the 3 tokens how good a border it is, since `chunking.borders` is set, but does "
        "so of 0. Pass the document with its tokens."
    )


def test_borders_of_a_configuration() -> None:
    assert ChunkingConfig().borders is None
    assert ChunkingConfig(borders={}).borders == BORDERS  # type: ignore[arg-type]
    assert [BORDERS.kind(rank) for rank in range(4)] == [None, "sentence", "paragraph", "section"]
    for wrong in ({"prefer": []}, {"tolerance": 0}, {"prefer": ["word"]}, {"prefer": ["section", "section"]}):
        with pytest.raises(ValidationError):
            BordersConfig(**wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["Word it ends. ", "a\n\n", "# A\n\n", "。"])
def test_twice_the_text_is_at_most_twice_the_work(unit: str) -> None:
    """Counted in calls of Python functions."""
    import sys

    def calls(repeats: int) -> int:
        text, count = unit * repeats, 0

        def noticed(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        tokens = tokenized(text)
        chunker = Chunker(50, 8, (1,), (2,), borders=BORDERS)
        sys.setprofile(noticed)
        try:
            chunker.chunks(tokens, Document(id="d", text=text))
        finally:
            sys.setprofile(None)
        return count

    assert calls(20_000) <= 2.2 * calls(10_000) + 100


def test_the_walk_of_a_model_keeps_its_borders(tmp_path: Path) -> None:
    from longdoc.checkpoints.native import ModelSettings
    from longdoc.pipeline import Pipeline
    from nn_kit import tiny_model

    tokenizer = wrapped("wordpiece")
    settings = ModelSettings(
        labels=("a", "b", "c"), chunking=ChunkingConfig(size=32, overlap=8, borders=BordersConfig(tolerance=4))
    )
    pipe = Pipeline(tiny_model(vocab_size=tokenizer.vocab_size), settings, tokenizer)
    document = Document(id="d", text=sentences(12))
    pipe.save(tmp_path / "model")
    again = Pipeline.load(tmp_path / "model")
    assert again.settings.chunking.borders == BordersConfig(tolerance=4)
    plain = Pipeline(
        pipe.model, settings.model_copy(update={"chunking": ChunkingConfig(size=32, overlap=8)}), tokenizer
    )
    answers = [which.explain(document) for which in (pipe, again, plain)]
    assert answers[0].logits == answers[1].logits != answers[2].logits
    assert sum(passage.weight for passage in answers[0].evidence) == pytest.approx(max(answers[0].logits), abs=1e-4)
    assert answers[0].tokens_read == answers[0].n_tokens
    assert pipe.fingerprint != plain.fingerprint
    parts = pipe.embed([document], chunks=True)[0].parts
    assert len(parts) == answers[0].n_chunks
    assert sum(part.n_tokens for part in parts) == answers[0].n_tokens

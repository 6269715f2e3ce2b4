"""Where chunks end changes no answer, where answers are no longer than what neighbours share and one token more."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answer_kit import NOWHERE, WORDS, toy
from longdoc.decide import Decisions
from longdoc.pipeline import Pipeline
from longdoc.types import Document, DocumentPrediction


def answered(pipeline: Pipeline, text: str, question: str = "who") -> DocumentPrediction:
    (result,) = pipeline.predict([Document("d", text, question=question)])
    assert isinstance(result, DocumentPrediction)
    assert (result.tokens_read, result.n_tokens) == (len(text.split()),) * 2
    for answer in result.answers:
        assert text[answer.start : answer.end] == answer.text
        assert 1 <= answer.chunk <= result.n_chunks
    assert (result.answer is None) == (result.spans == ())
    return result


@settings(max_examples=10, deadline=None)
@given(
    words=st.lists(st.sampled_from([*WORDS, "out", "out"]), min_size=1, max_size=59),
    longest=st.sampled_from([1, 2, 4]),
    more=st.integers(0, 3),
    room=st.integers(1, 9),
    gap=st.sampled_from([" ", "  ", "\n"]),
)
def test_answers_are_those_of_one_unlimited_window(
    words: list[str], longest: int, more: int, room: int, gap: str
) -> None:
    text, overlap = gap.join(words), longest - 1 + more
    whole = answered(toy(64, 0, max_answer_tokens=longest), text)
    cut = answered(toy(4 + overlap + room, overlap, max_answer_tokens=longest), text)
    assert (cut.answer, cut.spans and cut.spans[0][:2]) == (whole.answer, whole.spans and whole.spans[0][:2])
    assert [answer[:3] for answer in cut.answers] == [answer[:3] for answer in whole.answers]
    for ours, theirs in zip((*cut.answers, cut), (*whole.answers, whole), strict=True):
        assert ours.score == pytest.approx(theirs.score, rel=1e-5)


def test_probabilities_are_those_of_all_places_and_of_none() -> None:
    words = ["out", "b1", "out", "e1", "b2"] * 3
    result = answered(toy(10, 3, listed=100), " ".join(words))
    weights = {
        (i, j): math.exp(WORDS[words[i]][0] + WORDS[words[j]][1])
        for i in range(len(words))
        for j in range(i, min(len(words), i + 4))
    }
    total = sum(weights.values()) + math.exp(NOWHERE)
    assert len(result.answers) == len(weights)
    starts = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]
    for answer in result.answers:
        place = starts.index(answer.start), starts.index(answer.end - len(answer.text.split()[-1]))
        assert answer.score == pytest.approx(weights[place] / total, rel=1e-5)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_an_answer_anywhere_in_a_long_text_is_found(place: str) -> None:
    before = {"first": 0, "middle": 750, "last": 1500}[place]
    text = "out " * before + "b2 out e2" + " out" * (1500 - before)
    result = answered(toy(512, 128), text)
    assert (result.answer, result.spans[0].start) == ("b2 out e2", 4 * before)
    assert result.answers[0].chunk == {"first": 1, "middle": 2, "last": 4}[place]


def test_an_answer_longer_than_the_overlap_is_found_where_a_chunk_shows_it_whole_and_else_is_not() -> None:
    """Nine words per chunk, of which two are shared; an answer of four words begins at each place in turn."""
    pipeline = toy(13, 2)
    found = []
    for before in range(14):
        text = "out " * before + "b2 out out e2" + " out" * (20 - before)
        found.append(answered(pipeline, text).answer == "b2 out out e2")
    shown = [any(s <= n and n + 4 <= s + 9 for s in (0, 7, 14, 21)) for n in range(14)]
    assert found == shown
    assert not all(shown)


def test_a_document_is_the_same_alone_and_in_company_to_the_last_bit() -> None:
    pipeline = toy(12, 4)
    documents = [
        Document(
            f"d{n}",
            " ".join(list(WORDS)[(n * 3 + i * i) % len(WORDS)] for i in range(length)),
            question=["who", "who who out", "out"][n % 3],
        )
        for n, length in enumerate([1, 7, 40, 90, 90, 13])
    ]
    alone = [pipeline.predict([document])[0] for document in documents]
    for order in (documents, documents[::-1]):
        together = {result.id: result for result in pipeline.predict(order)}
        assert [together[result.id].to_dict() for result in alone] == [result.to_dict() for result in alone]
        assert [together[result.id].logits for result in alone] == [result.logits for result in alone]


@pytest.mark.parametrize("keep", ["head", "tail", "head_tail"])
def test_answers_are_looked_for_in_what_is_read(keep: str) -> None:
    text = "b1 e1 " + "out " * 20 + "b2 e2" + " out" * 20 + " both"
    (result,) = toy(12, 2, keep).predict([Document("d", text, question="who")])
    expected = {"head": "b1 e1", "tail": "both", "head_tail": "both"}[keep]
    assert result.answer == expected
    assert result.tokens_read == (11 if keep == "head_tail" else 8)


def test_no_answer_is_said_by_the_least_of_the_chunks_and_by_the_margin() -> None:
    silent = answered(toy(12, 3), "out " * 40)
    assert (silent.answer, silent.spans, silent.abstained) == (None, (), False)
    assert silent.logits == pytest.approx((0.0, NOWHERE))
    assert silent.score > silent.answers[0].score
    for margin, answer in ((NOWHERE - 0.1, None), (NOWHERE + 0.1, "out")):
        decided = toy(12, 3, decisions=Decisions(no_answer_margin=margin))
        assert answered(decided, "out " * 40).answer == answer
    always = answered(toy(12, 3, no_answer=False), "out " * 40)
    assert (always.answer, always.logits) == ("out", ())
    unsure = answered(toy(12, 3, decisions=Decisions(min_score=0.9)), "out b1 e1 b1 e1 out")
    assert (unsure.answer, unsure.abstained) == (None, True)
    assert unsure.score == unsure.answers[0].score < 0.9

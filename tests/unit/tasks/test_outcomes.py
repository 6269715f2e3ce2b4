"""How single documents come out, task by task: what reports draw. Right values worked out by hand."""

from __future__ import annotations

import math

import pytest

from longdoc.tasks import task_named
from longdoc.types import (
    AnswerSpan,
    Document,
    DocumentFailure,
    DocumentPrediction,
    LabelledSpan,
    LabelScore,
    ScoredSpan,
    Span,
)

SECRET = "Alice Liddell lives in Oxford, and Bob does not."
FAILED = DocumentFailure(id="d", reason="timeout")


def scored(**chances: float) -> tuple[LabelScore, ...]:
    return tuple(sorted((LabelScore(name, chance) for name, chance in chances.items()), key=lambda each: -each.score))


@pytest.mark.parametrize(
    ("chances", "abstained", "score", "surprise", "said"),
    [
        ({"lease": 0.75, "letter": 0.25}, False, 1.0, 0.0, "lease (0.75)"),
        ({"lease": 0.25, "letter": 0.75}, False, 0.0, math.log(4), "letter (0.75)"),
        ({"lease": 0.25, "letter": 0.75}, True, 0.0, math.log(4), "letter (0.75), held back"),
    ],
)
def test_one_label(chances: dict[str, float], abstained: bool, score: float, surprise: float, said: str) -> None:
    document = Document(id="d", text=SECRET, label="lease")
    best = max(chances, key=lambda name: chances[name])
    result = DocumentPrediction(
        id="d", labels=scored(**chances), abstained=abstained, label=None if abstained else best, n_tokens=9
    )
    outcome = task_named("single_label").outcome(document, result, ("lease", "letter"))
    assert outcome.score == score
    assert outcome.surprise == pytest.approx(surprise)
    assert (outcome.right, outcome.said) == (f"lease ({chances['lease']:.2f})", said)
    assert (outcome.judged, outcome.wanted) == (((max(chances.values()), bool(score)),), 1)


def test_many_labels() -> None:
    document = Document(id="d", text=SECRET, labels=("a", "b"))
    labels = (LabelScore("a", 0.9, True), LabelScore("c", 0.8, True), LabelScore("b", 0.1, False))
    outcome = task_named("multi_label").outcome(document, DocumentPrediction(id="d", labels=labels), ("a", "b", "c"))
    assert outcome.score == 0.5, "one of two given is right, one of two right is given"
    assert outcome.surprise == pytest.approx(math.log(10)), "b at 0.1 surprises more than c at 0.8"
    assert (outcome.right, outcome.said) == ("a, b", "a (0.90), c (0.80)")
    assert sorted(outcome.judged) == [(0.1, True), (0.8, False), (0.9, True)]
    assert outcome.wanted == 2
    nothing = Document(id="d", text=SECRET, labels=())
    silent = DocumentPrediction(id="d", labels=(LabelScore("a", 0.2, False),))
    assert task_named("multi_label").outcome(nothing, silent, ("a",))[:4] == (1.0, 0.0, "none", "none")


def test_numbers() -> None:
    document = Document(id="d", text=SECRET, target=2.0)
    task = task_named("regression")
    assert task.outcome(document, DocumentPrediction(id="d", value=3.5), ("size",))[:4] == (1.5, 1.5, "2", "3.5")
    rounded = task.outcome(document, DocumentPrediction(id="d", value=2.0 + 2e-7), ("size",))
    assert (rounded.surprise, rounded.distance) == (0.0, pytest.approx(2e-7)), "right within rounding is no error"
    near = task.outcome(document, DocumentPrediction(id="d", value=2.001), ("size",))
    assert (near.surprise, near.said) == (pytest.approx(0.001), "2.001")
    failed = task.outcome(document, FAILED, ("size",))
    assert math.isnan(failed.score)
    assert failed.distance is None
    assert failed.judged == ()


def test_spans_are_told_by_counts_and_places() -> None:
    spans = (LabelledSpan(0, 13, "name"), LabelledSpan(23, 29, "place"))
    document = Document(id="d", text=SECRET, spans=spans)
    given = (ScoredSpan(0, 13, "name", 0.9), ScoredSpan(35, 38, "name", 0.6))
    outcome = task_named("spans").outcome(document, DocumentPrediction(id="d", spans=given), ("name", "place"))
    assert outcome.score == 0.5
    assert outcome.surprise == pytest.approx(1 + 0.6), "one is missing, one is wrong"
    assert (outcome.right, outcome.said) == ("1 name, 1 place", "2 name; 1 of them right")
    assert outcome.places == ((0.0, 1.0), (23 / len(SECRET), 0.0))
    assert (outcome.judged, outcome.wanted) == (((0.9, True), (0.6, False)), 2)
    failed = task_named("spans").outcome(document, FAILED, ("name", "place"))
    assert (failed.score, failed.surprise, failed.said, failed.wanted) == (0.0, 0.0, "no answer", 2)


@pytest.mark.parametrize(
    ("answer", "score", "said"), [("Alice Liddell", 1.0, "at 0 to 13 (0.80)"), ("Bob", 0.0, "at 35 to 38 (0.80)")]
)
def test_answers_to_questions_are_told_by_places(answer: str, score: float, said: str) -> None:
    document = Document(id="d", text=SECRET, question="Who lives in Oxford?", answers=(Span(0, 13),))
    start = SECRET.index(answer)
    end = start + len(answer)
    result = DocumentPrediction(
        id="d",
        question="Who lives in Oxford?",
        answer=answer,
        score=0.8,
        spans=(ScoredSpan(start, end, "answer", 0.8),),
        answers=(AnswerSpan(start, end, answer, 0.8, 1),),
    )
    outcome = task_named("question_answering").outcome(document, result, ("start", "end"))
    assert outcome.score == score
    assert outcome.surprise == pytest.approx(0.8 * (1 - score))
    assert (outcome.right, outcome.said) == ("at 0 to 13", said)
    assert outcome.places == ((0.0, score),)
    assert (outcome.judged, outcome.wanted) == (((0.8, bool(score)),), 1)

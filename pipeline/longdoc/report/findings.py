"""What an evaluation found beyond its measures: scores against length and place, thresholds, the worst surprises.

Shape letters: B documents, I items (documents, or places in them), R resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.metrics.intervals import FEWEST_DOCUMENTS, Floats, bootstrap_intervals
from longdoc.tasks import Task
from longdoc.tasks.outcomes import Outcome
from longdoc.types import Document, DocumentPrediction, DocumentResult, EvidencePassage

__all__ = [
    "EvaluationFindings",
    "Group",
    "Surprise",
    "ThresholdRow",
    "evaluation_findings",
    "evidence_strip",
    "loudest_place",
    "most_surprising",
]

GROUPS = 5
FEWEST = FEWEST_DOCUMENTS
"""A group of lengths has at least so many documents, if there are enough of them: fewer have no interval."""
RESAMPLES, CONFIDENCE = 1000, 0.95


@dataclass(frozen=True)
class Group:
    """Documents (or places in them) that have something in common.

    Attributes:
        name: in words: `1 to 510`.
        items: how many there are.
        mean: of their scores; None if there are none.
        low, high: 95 % bootstrap interval over documents; None where it is undefined or there are too few.
    """

    name: str
    items: int
    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ThresholdRow:
    """What is given where only what has at least this probability is given.

    Attributes:
        threshold: the least probability.
        given: how much is given.
        precision: the share of it that is right; None if nothing is given.
        recall: the share of what is to be found that is given; None if there is nothing.
        f1: of both; None where they are.
    """

    threshold: float
    given: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class Surprise:
    """An answer that is wrong and that the model was sure of, or a number that is far from the right one.

    Attributes:
        number: of the document in the data, from 0.
        id: of the document.
        tokens: of the document.
        outcome: right answer, given answer, score.
        strip: where the evidence for the answer stands: start, end (from 0 to 1) and weight.
    """

    number: int
    id: str
    tokens: int
    outcome: Outcome
    strip: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class EvaluationFindings:
    """What the page draws.

    Attributes:
        overall: the mean score of all documents.
        by_length: groups of documents by their tokens.
        by_place: items by the fifth of the text in which they stand; empty where nobody knows a place.
        places_are: `gold` where the data say the places, `evidence` where the model's loudest passage is meant.
        thresholds: empty where answers have no probability.
        surprises: the most surprising errors, the worst first.
        of_numbers: whether answers are numbers, and errors distances.
    """

    overall: Group
    by_length: tuple[Group, ...]
    by_place: tuple[Group, ...]
    places_are: str
    thresholds: tuple[ThresholdRow, ...]
    surprises: tuple[Surprise, ...]
    of_numbers: bool = False

    def to_dict(self) -> dict[str, Any]:
        """What `metrics.json` holds of it: numbers, and of errors the numbers of the documents."""
        return {
            "by_length": [asdict(group) for group in self.by_length],
            "by_place": [asdict(group) for group in self.by_place],
            "places_are": self.places_are,
            "by_threshold": [asdict(row) for row in self.thresholds],
            "surprising_errors": [each.number for each in self.surprises],
        }


def evaluation_findings(
    task: Task,
    documents: Sequence[Document],
    results: Sequence[DocumentResult],
    labels: Sequence[str],
    explained: Sequence[tuple[int, DocumentPrediction]] = (),
    most: int = 10,
) -> EvaluationFindings:
    """Findings about labelled documents and their answers.

    Args:
        documents, results: in the same order.
        explained: numbers of documents whose evidence is known, and their predictions with it: a sample that was drawn
            without looking at the answers. Not needed where the data say the places.
        most: how many errors at most.
    """
    outcomes = task.outcomes(documents, results, labels)
    scores = np.array([outcome.score for outcome in outcomes])
    measured = np.flatnonzero(np.isfinite(scores))
    tokens = np.array([result.n_tokens for result in results])
    places = [(number, *place) for number, outcome in enumerate(outcomes) for place in outcome.places]
    if by_gold := bool(places):
        whose = "gold"
    else:
        found = [(number, loudest_place(documents[number], prediction)) for number, prediction in explained]
        places = [(n, at, float(scores[n])) for n, at in found if at is not None and np.isfinite(scores[n])]
        whose = "evidence" if places else "unknown"
    return EvaluationFindings(
        overall=_grouped([("all", measured, scores[measured])], len(documents))[0],
        by_length=_by_length(tokens, scores, measured),
        by_place=_by_place(places, len(documents)) if by_gold or places else (),
        places_are=whose,
        thresholds=_thresholds(outcomes),
        surprises=most_surprising(documents, results, outcomes, most),
        of_numbers=any(outcome.distance is not None for outcome in outcomes),
    )


def most_surprising(
    documents: Sequence[Document], results: Sequence[DocumentResult], outcomes: Sequence[Outcome], most: int
) -> tuple[Surprise, ...]:
    """The answers that are wrong, those first of which the model was the surest; ties in the order of the data."""
    wrong = [number for number, outcome in enumerate(outcomes) if outcome.surprise > 0]
    worst = sorted(wrong, key=lambda number: -outcomes[number].surprise)[:most]
    return tuple(Surprise(number, documents[number].id, results[number].n_tokens, outcomes[number]) for number in worst)


def loudest_place(document: Document, prediction: DocumentPrediction) -> float | None:
    """Where the passage stands that says the most for the answer: the middle of it, from 0 to 1; None without one."""
    passages = _for_answer(prediction)
    if not passages or not document.text:
        return None
    loudest, _ = max(passages, key=lambda found: (found[1], -found[0].start))
    return (loudest.start + loudest.end) / 2 / len(document.text)


def evidence_strip(document: Document, prediction: DocumentPrediction) -> tuple[tuple[float, float, float], ...]:
    """The passages of the answer as shares of the text, with their weights."""
    whole = max(1, len(document.text))
    return tuple((each.start / whole, each.end / whole, weight) for each, weight in _for_answer(prediction))


def _for_answer(prediction: DocumentPrediction) -> list[tuple[EvidencePassage, float]]:
    """Passages of the first score that has any, the best label or the number, and what each says for the answer.

    The lowest of several grades has no score of its own: what speaks against a higher one speaks for it.
    """
    passages = prediction.evidence or ()
    ranks = {each.label: rank for rank, each in enumerate(prediction.labels)}
    names = sorted({passage.label for passage in passages}, key=lambda name: ranks.get(name, len(ranks)))
    if not names:
        return []
    sign = -1 if prediction.label is not None and prediction.label not in names else 1
    return [(passage, sign * passage.says) for passage in passages if passage.label == names[0]]


def _by_length(tokens: NDArray[Any], scores: Floats, measured: NDArray[Any]) -> tuple[Group, ...]:
    """Groups of about as many documents each, cut at lengths."""
    if not len(measured):
        return ()
    lengths = tokens[measured]
    groups = max(1, min(GROUPS, len(measured) // FEWEST))
    edges = np.unique(np.sort(lengths)[[len(lengths) * number // groups - 1 for number in range(1, groups)]])
    member = np.searchsorted(edges, lengths, side="left")
    parts = []
    for number in np.unique(member):
        chosen = measured[member == number]
        low, high = int(tokens[chosen].min()), int(tokens[chosen].max())
        parts.append((f"{low}" if low == high else f"{low} to {high}", chosen, scores[chosen]))
    return _grouped(parts, len(tokens))


_FIFTHS = ("first fifth", "second", "third", "fourth", "last fifth")


def _by_place(places: Sequence[tuple[int, float, float]], documents: int) -> tuple[Group, ...]:
    """All five fifths, the empty ones too."""
    owners, at, scores = (np.array(column) for column in zip(*places, strict=True))
    member = np.minimum((at * len(_FIFTHS)).astype(int), len(_FIFTHS) - 1)
    parts = [(name, owners[member == n].astype(int), scores[member == n]) for n, name in enumerate(_FIFTHS)]
    return _grouped(parts, documents)


def _grouped(parts: Sequence[tuple[str, Any, Floats]], documents: int) -> tuple[Group, ...]:
    """Means with intervals over documents: name, owner (I,) and score (I,) of the items of each group."""

    def statistic(owners: Any, scores: Floats) -> Callable[[Floats], Floats]:
        sums, sizes = np.zeros(documents), np.zeros(documents)
        np.add.at(sums, owners, scores)
        np.add.at(sizes, owners, 1.0)

        def mean(counts: Floats) -> Floats:
            drawn = counts @ sizes
            return np.asarray(np.divide(counts @ sums, drawn, out=np.full(len(counts), np.nan), where=drawn > 0))

        return mean

    means = {str(n): statistic(owners, scores) for n, (_, owners, scores) in enumerate(parts) if len(scores)}
    behind = {str(n): len(np.unique(owners)) for n, (_, owners, _) in enumerate(parts)}
    intervals = bootstrap_intervals(
        lambda counts: {name: mean(counts) for name, mean in means.items()}, documents, RESAMPLES, 0, CONFIDENCE, behind
    )
    groups = []
    for number, (name, _, scores) in enumerate(parts):
        low, high = intervals.get(str(number)) or (None, None)
        groups.append(Group(name, len(scores), float(scores.mean()) if len(scores) else None, low, high))
    return tuple(groups)


def _thresholds(outcomes: Sequence[Outcome]) -> tuple[ThresholdRow, ...]:
    """In steps of 0.05."""
    judged = [each for outcome in outcomes for each in outcome.judged]
    if not judged:
        return ()
    chance, hit = (np.array(column, dtype=np.float64) for column in zip(*judged, strict=True))
    wanted = sum(outcome.wanted for outcome in outcomes)
    rows = []
    for step in range(20):
        threshold = step / 20
        reached = chance >= threshold
        given, right = int(reached.sum()), float(hit[reached].sum())
        precision = right / given if given else None
        recall = right / wanted if wanted else None
        f1 = 2 * right / (given + wanted) if given + wanted else None
        rows.append(ThresholdRow(threshold, given, precision, recall, None if f1 is None or math.isnan(f1) else f1))
    return tuple(rows)

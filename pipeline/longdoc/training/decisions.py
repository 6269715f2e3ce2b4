"""How scores become answers, fitted on validation documents: temperature, thresholds, and when to abstain.

Nothing here sees training or test documents: what comes in are the scores and the gold labels of the validation
documents, and what comes out is stored in the model folder.

Shapes: B documents, C labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.decide import ConformalSets, Decisions, probabilities
from longdoc.errors import UsageError
from longdoc.pipeline import Pipeline
from longdoc.training.decision_settings import DecisionConfig
from longdoc.training.gold import encode_targets
from longdoc.types import Document, DocumentPrediction, DocumentResult, Task

__all__ = [
    "fit_conformal",
    "fit_decisions",
    "fit_on_validation",
    "fit_temperature",
    "fit_thresholds",
]

Floats = NDArray[np.float64]

_COLDEST, _HOTTEST = 0.01, 100.0


def fit_on_validation(
    pipeline: Pipeline, documents: Sequence[Document], results: Sequence[DocumentResult], settings: DecisionConfig
) -> Decisions:
    """Fit on a pipeline's answers for validation documents, and let it answer so from now on.

    Args:
        pipeline: its `settings.decisions` are replaced.
        documents: labelled, the validation documents and no others.
        results: the pipeline's answers, in the order of the documents; failures are left out.
    """
    task, labels = pipeline.settings.task, pipeline.labels
    decisions = Decisions()
    kept = [(d, r) for d, r in zip(documents, results, strict=True) if isinstance(r, DocumentPrediction)]
    if kept:
        gold = np.stack([target.numpy() for target in encode_targets([d for d, _ in kept], labels, task)])
        decisions = fit_decisions([r.logits for _, r in kept], gold, labels, task, settings)
    pipeline.decide_by(decisions)
    return decisions


def fit_decisions(
    logits: ArrayLike, gold: ArrayLike, labels: Sequence[str], task: Task, settings: DecisionConfig | None = None
) -> Decisions:
    """All decisions of a model from the raw scores of its validation documents.

    Args:
        logits: float (B, C), finite.
        gold: int (B,), the index of the right label; bool (B, C) in a multi-label task.
        labels: the C labels.
        task: a regression has nothing to decide.
        settings: what to fit.

    Raises:
        ConfigurationError: abstention is asked for in a regression.
        UsageError: there is no document, or shapes do not fit.
    """
    settings = settings or DecisionConfig()
    scores, right = np.asarray(logits, dtype=np.float64), np.asarray(gold)
    settings.check(task, len(scores))
    if task == "regression":
        return Decisions()
    expected = (len(scores), len(labels)) if task == "multi_label" else (len(scores),)
    if not len(scores) or scores.shape != (len(scores), len(labels)) or right.shape != expected:
        raise UsageError(
            f"`logits` and `gold` must be (B, {len(labels)}) and {'(B, C)' if task == 'multi_label' else '(B,)'} with "
            f"B >= 1, but are {scores.shape} and {right.shape} instead."
        )
    temperature = fit_temperature(scores, right, task) if settings.temperature else 1.0
    probability = probabilities(scores, task, temperature)
    several = task == "multi_label"
    counts = right.astype(bool).sum(axis=0) if several else np.bincount(right.astype(np.intp), minlength=len(labels))
    return Decisions(
        temperature=temperature,
        thresholds=fit_thresholds(probability, right) if several and settings.thresholds == "f1" else None,
        conformal=None if settings.coverage is None else fit_conformal(probability, right, task, settings.coverage),
        documents=len(scores),
        labels_without_support=tuple(label for label, count in zip(labels, counts, strict=True) if not count),
    )


def fit_temperature(logits: Floats, gold: NDArray[Any], task: Task) -> float:
    """The temperature with the least mean negative log-likelihood (Guo et al. 2017, arXiv 1706.04599, section 4.2).

    Targets are smoothed as by Platt 1999: of n documents that all are right, n + 1 of n + C are taken to be. Otherwise
    a model that makes no error on a few documents would be told to be infinitely sure. For hundreds of documents the
    difference is small.

    The likelihood is concave in 1 / temperature, so its slope has one zero, found by bisection. The temperature is
    kept within 0.01 and 100, and is 1 where it makes no difference.
    """
    targets = _smoothed(gold, logits.shape[1], task)
    scores = logits if task == "multi_label" else logits - logits.max(axis=1, keepdims=True)
    wanted = float((targets * scores).sum())

    def slope(inverse: float) -> float:
        return float((probabilities(scores, task, 1 / inverse) * scores).sum()) - wanted

    low, high = 1 / _HOTTEST, 1 / _COLDEST
    if not scores.any():
        return 1.0
    if slope(low) >= 0:
        return _HOTTEST
    if slope(high) <= 0:
        return _COLDEST
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 1 / math.sqrt(low * high)


def fit_thresholds(probability: Floats, gold: NDArray[Any]) -> tuple[float, ...]:
    """For each label the probability from which on giving it has the best F1.

    Equal probabilities stand or fall together. Of several best thresholds the nearest to 0.5 is taken, and 0.5 itself
    if it is among them; otherwise it lies in the middle between two probabilities that were seen. A label that no
    document has keeps 0.5: there is nothing to learn from.
    """
    return tuple(_best_threshold(*column) for column in zip(probability.T, gold.astype(bool).T, strict=True))


def fit_conformal(probability: Floats, gold: NDArray[Any], task: Task, coverage: float) -> ConformalSets:
    """The limits within which the right answers' nonconformity 1 - p lies for a share `coverage` of documents.

    In a multi-label task each label has a limit of its own, for its yes and its no together, and the coverage is that
    of each label over documents; a rare label's few yeses may be covered less. The promise is exact for documents
    that nothing else was chosen by; the temperature and the best epoch were chosen by the same ones, which costs
    coverage in the order of 1 / B.
    """
    if task == "multi_label":
        nonconformity = np.where(gold.astype(bool), 1.0 - probability, probability)
    else:
        nonconformity = 1.0 - np.take_along_axis(probability, gold[:, None].astype(np.intp), axis=1)
    count = len(nonconformity)
    rank = math.ceil((count + 1) * coverage - 1e-9)
    ordered = np.sort(nonconformity, axis=0)
    limits = ordered[rank - 1] if rank <= count else np.ones(nonconformity.shape[1])
    return ConformalSets(coverage=coverage, limits=tuple(float(limit) for limit in limits), documents=count)


def _smoothed(gold: NDArray[Any], labels: int, task: Task) -> Floats:
    """Targets (B, C) that are never quite 0 or 1."""
    if task == "multi_label":
        right = gold.astype(bool)
        yes = right.sum(axis=0)
        return np.asarray(np.where(right, (yes + 1) / (yes + 2), 1 / (len(right) - yes + 2)))
    targets = np.full((len(gold), labels), 1 / (len(gold) + labels))
    targets[np.arange(len(gold)), gold.astype(np.intp)] = (len(gold) + 1) / (len(gold) + labels)
    return targets


def _best_threshold(probability: Floats, right: NDArray[np.bool_]) -> float:
    if not right.any():
        return 0.5
    order = np.argsort(-probability, kind="stable")
    ranked = probability[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # the label is given to the documents up to here
    f1 = 2 * np.cumsum(right[order])[ends] / (ends + 1 + right.sum())
    lowest = ranked[ends]
    below = np.append(lowest[1:], 0.0)
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    candidates = [_between(float(below[cut]), float(lowest[cut])) for cut in best]
    return min(candidates, key=lambda threshold: abs(threshold - 0.5))


def _between(below: float, lowest: float) -> float:
    """A threshold in (below, lowest]: 0.5 if it is there, else the middle."""
    middle = (below + lowest) / 2
    return 0.5 if below < 0.5 <= lowest else middle if below < middle else lowest

"""From the raw scores of a document to its answer, for every task in one place.

What is decided here was fitted on validation documents and is stored in the model folder: the temperature that makes
probabilities of scores, the threshold of each label, and when to abstain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from longdoc.schema import Config
from longdoc.types import LabelScore, Task

__all__ = ["ConformalSets", "Decisions", "chosen_labels", "decide", "plausible_labels", "probabilities"]

_THRESHOLD = 0.5


class ConformalSets(Config):
    """Which labels cannot be excluded: those whose nonconformity 1 - p is within a limit (Sadinle et al. 2019).

    Split conformal prediction (Vovk et al. 2005; Angelopoulos and Bates 2021, arXiv 2107.07511): with the limit at the
    ceil((n + 1) * coverage)-th smallest nonconformity of the right answers of n documents, the set of a new document
    from the same source holds its right label with at least the probability `coverage`, whatever the model is worth.
    """

    coverage: float = Field(gt=0, lt=1)
    """The share of documents (multi label: of documents for each label) whose right answer is in the set."""
    limits: tuple[float, ...]
    """One for a single label, one a label for many. 1: with so few documents nothing could be excluded."""
    documents: int = Field(ge=1)
    """How many documents the limits come from."""


class Decisions(Config):
    """How scores become answers; fitted on validation documents only."""

    temperature: float = Field(default=1.0, gt=0)
    """Scores are divided by it before they become probabilities. It changes no order of labels."""
    thresholds: tuple[float, ...] | None = None
    """Multi label: the probability from which on each label is given; null = 0.5 for all."""
    conformal: ConformalSets | None = None
    """When to abstain; null = never."""
    documents: int = Field(default=0, ge=0)
    """How many validation documents all this was fitted on."""
    labels_without_support: tuple[str, ...] = ()
    """Labels that no validation document has: their thresholds stayed at 0.5."""


def probabilities(logits: NDArray[Any], task: Task, temperature: float = 1.0) -> NDArray[np.float64]:
    """Logits (..., C) -> probabilities (..., C): softmax for one label, sigmoid for many, unchanged for a number.

    Computed in float64, so that the probabilities of a single-label answer add up to one within 1e-15.
    """
    scores = np.asarray(logits, dtype=np.float64)
    if task == "regression":
        return scores
    scores = scores / temperature
    if task == "multi_label":
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -700, 700))))
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def plausible_labels(scores: NDArray[np.float64], sets: ConformalSets) -> NDArray[np.bool_]:
    """Probabilities (..., C) -> bool (..., C): labels that belong to the conformal set of a document."""
    return np.asarray(1.0 - scores <= np.asarray(sets.limits))


def chosen_labels(scores: NDArray[np.float64], task: Task, decisions: Decisions) -> NDArray[np.object_]:
    """Probabilities (..., C) -> True, False or None (..., C): given, refused, undecided.

    Single label: the best one is given. Multi label: those that reach their thresholds. With conformal sets an answer
    is given only where it is the one thing that the set leaves: a single label whose set has others, too, or is empty,
    and a label of many for which both yes and no are plausible (or neither is), are undecided. A label outside the
    set of a document is refused.
    """
    if task == "single_label":
        given = np.asarray(np.arange(scores.shape[-1]) == scores.argmax(axis=-1)[..., None])
    else:
        given = np.asarray(scores >= np.asarray(decisions.thresholds or _THRESHOLD))
    answer: NDArray[np.object_] = given.astype(np.object_)
    if decisions.conformal is None:
        return answer
    yes = plausible_labels(scores, decisions.conformal)
    if task == "single_label":
        undecided = yes & (yes.sum(axis=-1, keepdims=True) != 1)
        answer[~yes] = False
    else:
        no = scores <= np.asarray(decisions.conformal.limits)
        undecided = ~np.where(given, yes & ~no, no & ~yes)
    answer[undecided] = None
    return answer


def decide(
    logits: Sequence[float] | NDArray[Any], labels: Sequence[str], task: Task, decisions: Decisions | None = None
) -> dict[str, Any]:
    """The answer fields of a `DocumentPrediction` for one document.

    Args:
        logits: (C,) raw scores, in the order of `labels`.
        labels: the C label names; one name (of the number) for regression.
        decisions: temperature, thresholds, abstention; None = none of these.

    Returns:
        `label`, `score`, `labels` (best first, ties in the order of `labels`), `value`, `abstained` and `logits` (as
        they came). Where a single-label answer is undecided, `label` and `score` are absent, and of `labels` those
        that cannot be excluded have `chosen` None.
    """
    decisions = decisions or Decisions()
    raw = np.asarray(logits, dtype=np.float64)
    answer: dict[str, Any] = {"logits": tuple(float(value) for value in raw)}
    if task == "regression":
        return answer | {"value": float(raw[0])}
    scores = probabilities(raw, task, decisions.temperature)
    chosen = chosen_labels(scores, task, decisions)
    shown = chosen if task == "multi_label" or decisions.conformal is not None else [None] * len(labels)
    order = np.argsort(-scores, kind="stable")
    answer["labels"] = tuple(LabelScore(labels[i], float(scores[i]), shown[i]) for i in order)
    if task == "multi_label":
        return answer | {"abstained": any(value is None for value in chosen)}
    if not any(chosen):
        return answer | {"abstained": True}
    return answer | {"label": labels[order[0]], "score": float(scores[order[0]])}

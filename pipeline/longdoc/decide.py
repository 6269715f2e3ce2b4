"""From the raw scores of a document to its answer, for every task in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.types import LabelScore, Task

__all__ = ["decide", "probabilities"]

_THRESHOLD = 0.5


def probabilities(logits: NDArray[Any], task: Task) -> NDArray[np.float64]:
    """Logits (..., C) -> probabilities (..., C): softmax for one label, sigmoid for many, unchanged for a number.

    Computed in float64, so that the probabilities of a single-label answer add up to one within 1e-15.
    """
    scores = np.asarray(logits, dtype=np.float64)
    if task == "regression":
        return scores
    if task == "multi_label":
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -700, 700))))
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def decide(logits: Sequence[float] | NDArray[Any], labels: Sequence[str], task: Task) -> dict[str, Any]:
    """The answer fields of a `DocumentPrediction` for one document.

    Args:
        logits: (C,) raw scores, in the order of `labels`.
        labels: the C label names; one name (of the number) for regression.

    Returns:
        `label`, `score`, `labels` (best first, ties in the order of `labels`), `value` and `logits`.
    """
    raw = np.asarray(logits, dtype=np.float64)
    answer: dict[str, Any] = {"logits": tuple(float(value) for value in raw)}
    if task == "regression":
        return answer | {"value": float(raw[0])}
    scores = probabilities(raw, task)
    order = np.argsort(-scores, kind="stable")
    if task == "multi_label":
        ranked = tuple(LabelScore(labels[i], float(scores[i]), bool(scores[i] >= _THRESHOLD)) for i in order)
        return answer | {"labels": ranked}
    ranked = tuple(LabelScore(labels[i], float(scores[i])) for i in order)
    return answer | {"labels": ranked, "label": ranked[0].label, "score": ranked[0].score}

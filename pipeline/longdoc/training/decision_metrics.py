"""What a model's decisions are worth: calibration with and without the temperature, and how abstention keeps its word.

Shapes: B documents, C labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.decide import Decisions, chosen_labels, plausible_labels, probabilities
from longdoc.training.calibration import Calibration
from longdoc.types import Task

__all__ = ["decision_metrics"]


def decision_metrics(
    gold: NDArray[Any], logits: NDArray[np.float64], task: Task, decisions: Decisions
) -> dict[str, Any]:
    """Measures beside those of the answers themselves; empty for a regression.

    Args:
        gold: int (B,) or bool (B, C), of the documents that have an answer.
        logits: (B, C), raw.

    Returns:
        `expected_calibration_error_unfitted`, that of the raw scores; `decisions`, in words; and with abstention
        `abstention`: `coverage_promised`; `coverage`, the share of right answers that are in the sets (multi label:
        mean over labels); `mean_set_size` (multi label: of the answers yes and no); `answered`, the share of answers
        that are given; `accuracy_answered` among them, None if there are none.
    """
    if task == "regression":
        return {}
    right = gold.astype(bool) if task == "multi_label" else gold[:, None] == np.arange(logits.shape[1])
    raw = Calibration(right, probabilities(logits, task), task).error(np.ones((1, len(right))))
    measures: dict[str, Any] = {
        "expected_calibration_error_unfitted": float(raw[0]),
        "decisions": {
            "fitted_on_documents": decisions.documents,
            "temperature": decisions.temperature,
            "thresholds": "one a label" if decisions.thresholds is not None else "0.5",
            "labels_without_support": len(decisions.labels_without_support),
        },
    }
    if decisions.conformal is not None:
        measures["abstention"] = _abstention(right, probabilities(logits, task, decisions.temperature), task, decisions)
    return measures


def _abstention(
    right: NDArray[np.bool_], scores: NDArray[np.float64], task: Task, decisions: Decisions
) -> dict[str, float | None]:
    sets = decisions.conformal
    assert sets is not None
    yes, chosen = plausible_labels(scores, sets), chosen_labels(scores, task, decisions)
    if task == "single_label":
        covered, size = yes[right], yes.sum(axis=1)
        given = chosen == True  # noqa: E712 - elements are True, False or None
        answered, agreed = given.any(axis=1), (given & right).any(axis=1)
    else:
        no = scores <= np.asarray(sets.limits)
        covered, size = np.where(right, yes, no), yes.astype(int) + no
        answered, agreed = chosen != None, chosen == right  # noqa: E711
    return {
        "coverage_promised": sets.coverage,
        "coverage": float(covered.mean()),
        "mean_set_size": float(size.mean()),
        "answered": float(answered.mean()),
        "accuracy_answered": float(agreed[answered].mean()) if answered.any() else None,
    }

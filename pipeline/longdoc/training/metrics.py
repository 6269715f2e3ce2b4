"""How good predictions are, document by document: arrays in, plain Python values out, ready for JSON.

Point values come from scikit-learn (the calibration error, which it lacks, is ours). Intervals are percentile
bootstraps over documents (Efron and Tibshirani 1993, chapter 13): a resample is a vector of counts, so all resamples
are a few matrix products instead of a thousand calls.

What an average is taken over is a choice, and it is written into the result under `choices`:

- The label set is always the model's. `macro_f1` and `macro_ap` average over the labels that occur in the gold data
  (`labels_without_support` says how many do not); `macro_f1_all_labels` counts the absent ones as 0. Where results on
  several parts of the data are compared, name one set for all of them with `average_over`.
- A document that has no label and is given none counts 1 in `sample_f1`.
- A document without an answer (`predicted` -1, or a row of scores that is not finite) counts as wrong in everything
  that compares labels; measures of scores leave it out and `unanswered` counts it.

Shapes: B documents, C labels of the model, R resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    root_mean_squared_error,
)

from longdoc.errors import UsageError

__all__ = [
    "Task",
    "classification_metrics",
    "expected_calibration_error",
    "format_metrics",
    "regression_metrics",
    "resample_counts",
]

Task = Literal["single_label", "multi_label"]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CALIBRATION_BINS = 15
"""As in Guo et al. 2017, "On calibration of modern neural networks"."""


def classification_metrics(
    gold: ArrayLike,
    predicted: ArrayLike,
    scores: ArrayLike,
    labels: Sequence[str],
    task: Task,
    *,
    average_over: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Metrics of a classification with intervals.

    Args:
        gold: int (B,), index of the right label; or bool (B, C) in a multi-label task.
        predicted: the same of what was answered; -1 = no answer (single-label).
        scores: float (B, C), probabilities; a row that is not finite = no answer.
        labels: the C labels of the model, in the order of the columns.
        task: "single_label" or "multi_label".
        average_over: labels of the macro averages; None = those that occur in `gold`.
        resamples: R; 0 leaves the intervals out.
        confidence: share of the bootstrap distribution between the two ends of an interval.

    Returns:
        `documents`, `unanswered`, the measures as floats (None where undefined), `intervals` with [low, high] of
        each, `per_label`, `choices`, and in a single-label task `confusion` (rows = gold; the last column, if any
        document has no answer, is "no answer").

    Raises:
        UsageError: shapes or indices do not fit `labels`.
    """
    names = list(labels)
    probability = np.asarray(scores, dtype=np.float64)
    gold_table, predicted_table = _tables(gold, predicted, probability, len(names), task)
    answered = np.isfinite(probability).all(axis=1)
    averaged = _averaged_columns(gold_table, names, average_over)
    counts = resample_counts(len(gold_table), resamples, seed)

    measures = _label_measures(gold_table, predicted_table, averaged, task)
    measures |= _score_measures(gold_table[answered], probability[answered], averaged, task)
    bootstrap = _bootstrap_labels(gold_table, predicted_table, averaged, task, counts)
    bootstrap |= _bootstrap_scores(gold_table[answered], probability[answered], averaged, task, counts[:, answered])

    support = gold_table.sum(axis=0)
    result: dict[str, Any] = {
        "task": task,
        "documents": len(gold_table),
        "unanswered": int((~answered).sum()),
        "labels": len(names),
        "labels_without_support": int((support == 0).sum()),
        **measures,
        "intervals": _intervals(bootstrap, confidence) if resamples else {},
        "per_label": _per_label(gold_table, predicted_table, probability, answered, names),
        "choices": {
            "macro": f"mean over {len(averaged)} of the {len(names)} labels of the model: "
            + ("those that occur in the gold data" if average_over is None else "those that the caller named"),
            "empty_documents": "a document without labels that is given none counts 1 in sample_f1",
            "unanswered": "counts as wrong wherever labels are compared, left out where scores are",
            "intervals": f"{confidence:.0%} percentile bootstrap over documents, {resamples} resamples, seed {seed}",
            "calibration": f"{CALIBRATION_BINS} equal-width bins"
            + (" of the highest score" if task == "single_label" else " over all pairs of document and label"),
        },
    }
    if task == "single_label":
        result["confusion"] = _confusion(gold_table, predicted_table, names)
    return result


def regression_metrics(
    gold: ArrayLike, predicted: ArrayLike, *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> dict[str, Any]:
    """Metrics of a regression with intervals.

    Args:
        gold: float (B,).
        predicted: float (B,); a value that is not finite = no answer: left out and counted in `unanswered`.

    Returns:
        `mae`, `rmse`, `r2`, `pearson` (the last two None where the gold values, or the answers, do not vary).
    """
    right, answer = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if right.ndim != 1 or right.shape != answer.shape:
        raise UsageError(f"`gold` and `predicted` must both be (B,), but are {right.shape} and {answer.shape} instead.")
    if not np.isfinite(right).all():
        raise UsageError("`gold` must be finite, but is not.")
    answered = np.isfinite(answer)
    documents = len(right)
    right, answer = right[answered], answer[answered]
    varied, moved = bool(np.ptp(right) > 0) if len(right) else False, bool(np.ptp(answer) > 0) if len(answer) else False
    measures: dict[str, float | None] = {
        "mae": float(mean_absolute_error(right, answer)) if len(right) else None,
        "rmse": float(root_mean_squared_error(right, answer)) if len(right) else None,
        "r2": float(r2_score(right, answer)) if varied else None,
        "pearson": float(np.corrcoef(right, answer)[0, 1]) if varied and moved else None,
    }
    counts = resample_counts(documents, resamples, seed)[:, answered]
    return {
        "task": "regression",
        "documents": documents,
        "unanswered": int((~answered).sum()),
        **measures,
        "intervals": _intervals(_bootstrap_regression(right, answer, counts), confidence) if resamples else {},
        "choices": {
            "unanswered": "left out of every measure",
            "intervals": f"{confidence:.0%} percentile bootstrap over documents, {resamples} resamples, seed {seed}",
        },
    }


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = CALIBRATION_BINS) -> float:
    """Mean distance between confidence and accuracy over equal-width bins of confidence, weighted by their sizes.

    Args:
        confidence: float (n,) in [0, 1].
        correct: bool (n,), or the frequency in [0, 1].

    Source: Guo et al. 2017, equation 5; bins are `(k/bins, (k+1)/bins]`, the first one closed.
    """
    value, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if not len(value):
        return float("nan")
    gap = np.bincount(_calibration_bin(value, bins), weights=value - right, minlength=bins)
    return float(np.abs(gap).sum() / len(value))


def resample_counts(documents: int, resamples: int, seed: int) -> Floats:
    """float64 (R, B): how often each document is drawn in each resample; rows sum to B."""
    if documents == 0 or resamples == 0:
        return np.zeros((resamples, documents))
    random = np.random.default_rng(seed)
    return random.multinomial(documents, np.full(documents, 1 / documents), size=resamples).astype(np.float64)


def format_metrics(metrics: Mapping[str, Any]) -> str:
    """The measures with their intervals, and one line a label, as a table of plain text."""
    lines = [f"{metrics['documents']} documents, {metrics['unanswered']} without an answer"]
    intervals: Mapping[str, Sequence[float] | None] = metrics["intervals"]
    for name, value in metrics.items():
        if not isinstance(value, float) and not (value is None and name not in ("task",)):
            continue
        ends = intervals.get(name)
        shown = "undefined" if value is None else f"{value:.3f}"
        lines.append(f"  {name:<28}{shown:>9}" + (f"  [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""))
    if per_label := metrics.get("per_label"):
        width = max(5, *(len(row["label"]) for row in per_label))
        lines.append(f"  {'label':<{width}}  support  precision  recall     f1     ap")
        for row in per_label:
            cells = [f"{row[key]:.3f}" if row[key] is not None else "-" for key in ("precision", "recall", "f1")]
            precision = "-" if row["average_precision"] is None else f"{row['average_precision']:.3f}"
            lines.append(
                f"  {row['label']:<{width}}  {row['support']:>7}  {cells[0]:>9}  {cells[1]:>6}  {cells[2]:>5}  {precision:>5}"
            )
    return "\n".join(lines)

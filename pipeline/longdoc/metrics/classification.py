"""How good predictions are, document by document: arrays in, plain Python values out, ready for JSON.

What a measure is taken over is a choice, and the result states it under `choices`:

- The label set is always the model's. `macro_f1` and `macro_average_precision` average over the labels that occur in
  the gold data (`labels_without_support` says how many do not); `macro_f1_all_labels` counts the absent ones as 0.
  Where results on several parts of the data are compared, `average_over` names one set for all of them.
- A document that has no label and is given none counts 1 in `sample_f1`.
- A document without an answer (`predicted` is -1, or its scores are not finite) counts as wrong wherever labels are
  compared; measures of scores leave it out, and `unanswered` counts it.

Shapes: B documents, C labels of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.errors import UsageError
from longdoc.metrics.calibration import BINS, Calibration
from longdoc.metrics.intervals import (
    Bools,
    Floats,
    bootstrap_average_precision,
    bootstrap_f1,
    bootstrap_intervals,
    bootstrap_label_f1,
    bootstrap_means,
    describe_intervals,
)

__all__ = ["classification_metrics"]

_NO_INTERVAL = (
    "none: chance alone makes the calibration error larger, and a resample adds chance once more, so that no bootstrap "
    "interval holds its right value"
)
_MACRO_INTERVALS = "a resample leaves out labels that the data hold and it does not; those that the data lack count 0"
_EMPTY = "a document without labels that is given none counts 1 in sample_f1"


def classification_metrics(
    gold: ArrayLike,
    predicted: ArrayLike,
    scores: ArrayLike,
    labels: Sequence[str],
    several: bool,
    *,
    average_over: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Metrics of a classification with intervals.

    Args:
        gold: int (B,), the index of the right label; bool (B, C) where `several`.
        predicted: what was answered, likewise; -1 = no answer where a document has one label.
        scores: float (B, C), probabilities; a row that is not finite = no answer.
        labels: the C labels of the model, in the order of the columns.
        several: whether a document has any number of labels, not exactly one.
        average_over: the labels of the two macro averages; None = those that occur in `gold`.
        resamples: how many bootstrap resamples; 0 leaves the intervals out.
        confidence: share of the resamples between the two ends of an interval.

    Returns:
        `documents`, `unanswered`, `labels`, `labels_without_support`; the measures, None where undefined:
        `accuracy` (several: `subset_accuracy` and `sample_f1`), `macro_f1`, `macro_f1_all_labels`, `micro_f1`,
        `macro_average_precision` (area under the precision-recall curve without interpolation), `log_loss`
        (several: mean over labels), `expected_calibration_error`; `intervals`: measure -> [low, high], for all but
        the last, None where there is too little for one (see `bootstrap_intervals`); `per_label`, each with its
        `f1_interval` or None; `calibration` bins; `confusion` where there is one
        (rows gold); `choices`.

    Raises:
        UsageError: there is no document, or shapes or indices do not fit `labels`.
    """
    names, values = list(labels), np.asarray(scores, dtype=np.float64)
    right, answer = _as_tables(gold, predicted, values, len(names), several)
    averaged = np.flatnonzero(right.any(axis=0)) if average_over is None else _columns(names, average_over)
    answered = np.isfinite(values).all(axis=1)
    known, probability = right[answered], values[answered]

    per_label = [
        _label_row(name, *columns)
        for name, *columns in zip(names, right.T, answer.T, known.T, probability.T, strict=True)
    ]
    f1 = np.array([row["f1"] or 0.0 for row in per_label])
    precisions = [row["average_precision"] for row in (per_label[column] for column in averaged)]
    of_labels, of_scores = (
        _label_agreement(right, answer, several),
        {"log_loss": _log_losses(known, probability, several)},
    )
    said = answered if several else answered & answer.any(axis=1)
    calibration = Calibration(right[said], values[said], None if several else answer[said])
    measures: dict[str, float | None] = {
        **{name: _mean(values) for name, values in of_labels.items()},
        "macro_f1": _mean(f1[averaged]),
        "macro_f1_all_labels": _mean(f1),
        "micro_f1": _f1(int((right & answer).sum()), int(right.sum()), int(answer.sum())),
        "macro_average_precision": _mean([value for value in precisions if value is not None]),
        **{name: _mean(values) for name, values in of_scores.items()},
        "expected_calibration_error": _mean(calibration.error(np.ones((1, said.sum())))) if said.any() else None,
    }

    def resampled(counts: Floats) -> dict[str, Floats]:
        drawn = counts[:, answered]
        return {
            **bootstrap_means(of_labels, counts),
            **bootstrap_f1(right, answer, averaged, counts),
            "macro_average_precision": bootstrap_average_precision(known, probability, averaged, drawn),
            **bootstrap_means(of_scores, drawn),
            **bootstrap_label_f1(right, answer, counts),
        }

    behind = {str(label): int(documents) for label, documents in enumerate((right | answer).sum(axis=0))}
    behind |= dict.fromkeys(["macro_average_precision", *of_scores], len(known))
    intervals = bootstrap_intervals(resampled, len(right), resamples, seed, confidence, behind)
    for number, row in enumerate(per_label):
        row["f1_interval"] = intervals.pop(str(number), None)
    return {
        "documents": len(right),
        "unanswered": int((~answered if several else ~answered | ~answer.any(axis=1)).sum()),
        "labels": len(names),
        "labels_without_support": int((~right.any(axis=0)).sum()),
        **measures,
        "intervals": intervals,
        "per_label": per_label,
        "calibration": calibration.table(),
        **({} if several else {"confusion": _confusion(right, answer, names)}),
        "choices": {
            "macro": f"mean over {len(averaged)} of the model's {len(names)} labels: those that "
            + ("occur in the gold data" if average_over is None else "the caller named"),
            **({"empty_documents": _EMPTY} if several else {}),
            "unanswered": "wrong wherever labels are compared, left out where scores are measured",
            "calibration": f"{BINS} bins of equal width of "
            + ("the scores of all pairs of document and label" if several else "the score of the answer"),
            "intervals": describe_intervals(resamples, seed, confidence),
            **({"macro_intervals": _MACRO_INTERVALS} if resamples else {}),
            "calibration_interval": _NO_INTERVAL,
        },
    }


def _as_tables(
    gold: ArrayLike, predicted: ArrayLike, scores: Floats, labels: int, several: bool
) -> tuple[Bools, Bools]:
    """Gold and predicted as bool (B, C), checked."""
    right, answer = np.asarray(gold), np.asarray(predicted)
    shape: tuple[int, ...] = (len(right), labels) if several else (len(right),)
    if not len(right) or right.shape != shape or answer.shape != shape or scores.shape != (len(right), labels):
        expected = "(B, C)" if several else "(B,)"
        raise UsageError(
            f"`gold`, `predicted` and `scores` must be {expected}, {expected} and (B, C) with B >= 1 and C = {labels}, "
            f"but are {right.shape}, {answer.shape} and {scores.shape} instead."
        )
    if several:
        return right.astype(bool), answer.astype(bool)
    for name, values, lowest in (("gold", right, 0), ("predicted", answer, -1)):
        if values.min() < lowest or values.max() >= labels:
            raise UsageError(
                f"`{name}` must be in [{lowest}, {labels}), but reaches from {values.min()} to {values.max()} instead."
            )
    columns = np.arange(labels)
    return right[:, None] == columns, answer[:, None] == columns


def _columns(names: Sequence[str], chosen: Sequence[str]) -> NDArray[np.intp]:
    if strangers := [label for label in chosen if label not in names]:
        raise UsageError(f"`average_over` must name labels of the model only, but names {strangers[0]!r} too.")
    return np.array(sorted({names.index(label) for label in chosen}), dtype=np.intp)


def _label_agreement(right: Bools, answer: Bools, several: bool) -> dict[str, Floats]:
    """Measures that are means over documents of how well labels agree: (B,) each."""
    if not several:
        return {"accuracy": np.asarray((right & answer).any(axis=1), dtype=np.float64)}
    total = right.sum(axis=1) + answer.sum(axis=1)
    shared = 2.0 * (right & answer).sum(axis=1)
    return {
        "subset_accuracy": (right == answer).all(axis=1).astype(np.float64),
        "sample_f1": np.divide(shared, total, out=np.ones(len(right)), where=total > 0),
    }


def _log_losses(right: Bools, probability: Floats, several: bool) -> Floats:
    """(B,): minus the logarithm of the right label's probability; of several labels the mean over them."""
    tiny = np.finfo(np.float64).eps  # where scikit-learn cuts, too: one wrong certainty must not make the mean infinite
    bounded = np.clip(probability, tiny, 1 - tiny)
    if not several:
        return np.asarray(-np.log(bounded[right]))
    return np.asarray(-np.where(right, np.log(bounded), np.log1p(-bounded)).mean(axis=1))


def _label_row(name: str, right: Bools, answer: Bools, known: Bools, probability: Floats) -> dict[str, Any]:
    """One label's row of the table: each argument is a column, the last two of the answered documents only."""
    from sklearn.metrics import average_precision_score  # who only predicts does without its 100 MB

    hits, support, given = int((right & answer).sum()), int(right.sum()), int(answer.sum())
    return {
        "label": name,
        "support": support,
        "predicted": given,
        "precision": hits / given if given else None,
        "recall": hits / support if support else None,
        "f1": _f1(hits, support, given),
        "average_precision": float(average_precision_score(known, probability)) if known.any() else None,
    }


def _f1(hits: int, support: int, given: int) -> float | None:
    return 2 * hits / (support + given) if support + given else None


def _mean(values: Floats | list[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _confusion(right: Bools, answer: Bools, names: Sequence[str]) -> dict[str, Any]:
    """Rows gold, columns predicted; a last column "no answer" if there are such documents."""
    from sklearn.metrics import confusion_matrix

    given = np.where(answer.any(axis=1), answer.argmax(axis=1), len(names))
    columns = [*names, "no answer"] if (given == len(names)).any() else list(names)
    matrix = confusion_matrix(right.argmax(axis=1), given, labels=np.arange(len(columns)))
    return {"gold": list(names), "predicted": columns, "matrix": matrix[: len(names)].tolist()}

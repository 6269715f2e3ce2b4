"""Bootstrap intervals of document-level metrics (Efron and Tibshirani 1993, chapter 13: percentile intervals).

A resample is drawn over documents, since the labels of one document are not independent. It is kept as a vector of
counts, so that a thousand resamples are a few matrix products instead of a thousand calls of a metric.

Shapes: B documents, C labels, R resamples. Every `bootstrap_*` function returns float64 (R,) arrays, NaN where
the measure is undefined in a resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "FEWEST_DOCUMENTS",
    "bootstrap_average_precision",
    "bootstrap_f1",
    "bootstrap_intervals",
    "bootstrap_label_f1",
    "bootstrap_means",
    "bootstrap_regression",
    "describe_intervals",
    "more_than_rounding",
    "without_rounding",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FEWEST_DOCUMENTS = 10
"""Documents behind a measure, below which it has no interval: resamples of so few hardly differ from them."""
_ROUNDING = 1e-12  # of values of size 1; what a few thousand additions leave of a difference that is none
_BLOCK = 4_000_000  # elements of a table of counts: 32 MB


def bootstrap_intervals(
    statistics: Callable[[Floats], Mapping[str, Floats]],
    documents: int,
    resamples: int,
    seed: int,
    confidence: float,
    behind: Mapping[str, int] | None = None,
) -> dict[str, list[float] | None]:
    """[low, high] of each statistic that is defined in some resample; None where that would feign certainty.

    Documents that are all right, or all wrong, give the same value in every resample, however few they are. So there
    is no interval where the resamples do not vary, nor where fewer than `FEWEST_DOCUMENTS` stand behind the statistic.

    Args:
        statistics: counts float64 (R, B), how often each document is drawn -> (R,) values of each statistic, NaN where
            undefined. Called several times with a part of the resamples, so that memory stays bounded.
        documents: B.
        resamples: how many in all; 0 gives no intervals.
        seed: the same seed draws the same resamples.
        confidence: share of the resamples between low and high.
        behind: how many documents a statistic is about, where they are not all of them.
    """
    behind = behind or {}
    random = np.random.default_rng(seed)
    chances = np.full(documents, 1 / documents)
    step = max(1, _BLOCK // documents)
    blocks = [
        statistics(random.multinomial(documents, chances, size=min(step, resamples - start)).astype(np.float64))
        for start in range(0, resamples, step)
    ]
    ends = [50 * (1 - confidence), 50 * (1 + confidence)]
    intervals: dict[str, list[float] | None] = {}
    for name in blocks[0] if blocks else ():
        values = np.concatenate([block[name] for block in blocks])
        values = values[np.isfinite(values)]
        if len(values):
            enough = behind.get(name, documents) >= FEWEST_DOCUMENTS and _vary(values)
            intervals[name] = [float(end) for end in np.percentile(values, ends)] if enough else None
    return intervals


def _vary(values: Floats) -> bool:
    """Whether values differ by more than rounding."""
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())


def without_rounding(differences: Floats, size: ArrayLike = 1.0) -> Floats:
    """Exactly 0 where a difference of values of this size is only rounding; NaN stays.

    A kappa or a correlation that is none would be -1e-15 in one resample and 2e-15 in another, as if it varied.
    """
    return np.where(np.abs(differences) <= _ROUNDING * np.asarray(size), 0.0, differences)


def more_than_rounding(values: Floats) -> bool:
    """Whether numbers, at least one, differ by more than rounding."""
    return bool(np.ptp(values) > _ROUNDING * np.abs(values).max())


def describe_intervals(resamples: int, seed: int, confidence: float) -> str:
    """How the intervals of a result were made, in words."""
    if not resamples:
        return "none were asked for"
    return (
        f"{confidence:.0%} percentile bootstrap over documents, {resamples} resamples, seed {seed}; none where fewer "
        f"than {FEWEST_DOCUMENTS} documents stand behind a measure or all resamples give the same value"
    )


def bootstrap_means(per_document: Mapping[str, Floats], counts: Floats) -> dict[str, Floats]:
    """Of measures that are means over documents: `per_document` holds (B,) arrays."""
    drawn = counts.sum(axis=1)
    return {name: _ratio(counts @ values, drawn) for name, values in per_document.items()}


def bootstrap_f1(gold: Bools, predicted: Bools, averaged: NDArray[np.intp], counts: Floats) -> dict[str, Floats]:
    """`macro_f1` over the labels `averaged`, `macro_f1_all_labels` and `micro_f1`.

    A label that the gold data hold, but not those of a resample, is left out of the macro averages there: counted as 0
    it would show how likely labels are drawn, not how good answers are. One that the gold data lack counts 0 always.

    Args:
        gold, predicted: (B, C).
    """
    right = counts @ (gold & predicted)
    support, answers = counts @ gold, counts @ predicted
    f1 = np.nan_to_num(_ratio(2 * right, support + answers))
    occurring = np.flatnonzero(gold.any(axis=0))

    def macro(columns: NDArray[np.intp]) -> Floats:
        """Over the labels that occur, times their share of the columns: the others have F1 0."""
        present = columns[np.isin(columns, occurring)]
        if not len(present):
            return np.full(len(counts), 0.0 if len(columns) else np.nan)
        drawn = support[:, present] > 0
        return _ratio((f1[:, present] * drawn).sum(axis=1), drawn.sum(axis=1)) * (len(present) / len(columns))

    return {
        "macro_f1": macro(averaged),
        "macro_f1_all_labels": macro(np.arange(gold.shape[1])),
        "micro_f1": _ratio(2 * right.sum(axis=1), (support + answers).sum(axis=1)),
    }


def bootstrap_label_f1(gold: Bools, predicted: Bools, counts: Floats) -> dict[str, Floats]:
    """F1 of each label, by its number as a word; NaN in resamples that neither hold nor are given it.

    Args:
        gold, predicted: (B, C).
    """
    f1 = _ratio(2 * (counts @ (gold & predicted)), counts @ gold + counts @ predicted)
    return {str(label): values for label, values in enumerate(f1.T)}


def bootstrap_average_precision(gold: Bools, scores: Floats, averaged: NDArray[np.intp], counts: Floats) -> Floats:
    """Mean over the labels `averaged` of the average precision; labels absent from a resample are left out of it.

    As in scikit-learn: sum over distinct scores of (recall gained) * (precision there), no interpolation.
    """
    drawn = np.ascontiguousarray(counts.T, dtype=np.float32)  # (B, R); counts are small whole numbers, so this is exact
    total, labels = np.zeros(len(counts)), np.zeros(len(counts))
    for label in averaged:
        order = np.argsort(-scores[:, label], kind="stable")
        ranked, positive = scores[order, label], gold[order, label]
        if not positive.any():
            continue
        last_of_ties = np.append(ranked[1:] != ranked[:-1], True)
        group = np.cumsum(last_of_ties) - last_of_ties  # equal scores are retrieved together
        groups, first = np.unique(group[positive], return_index=True)
        gained = np.add.reduceat(drawn[order[positive]], first, axis=0)  # (groups with a positive, R)
        found = np.cumsum(gained, axis=0)
        retrieved = np.cumsum(drawn[order], axis=0)[np.flatnonzero(last_of_ties)[groups]]
        precision = np.divide(found, retrieved, out=np.zeros(found.shape), where=retrieved > 0)
        total += np.nan_to_num(_ratio((gained * precision).sum(axis=0), found[-1]))
        labels += found[-1] > 0
    return _ratio(total, labels)


def bootstrap_regression(gold: Floats, predicted: Floats, counts: Floats) -> dict[str, Floats]:
    """`mae`, `rmse`, `r2` and `pearson` of (B,) arrays."""
    drawn = counts.sum(axis=1)

    def mean(values: Floats) -> Floats:
        return _ratio(counts @ values, drawn)

    # Moments around the overall means, so that large values with a small spread keep their digits.
    g, p = (_centred(values) for values in (gold, predicted))
    squares = mean((gold - predicted) ** 2)
    gold_variance, predicted_variance = (_without_roundoff(mean(v**2) - mean(v) ** 2, v) for v in (g, p))
    covariance = mean(g * p) - mean(g) * mean(p)
    return {
        "mae": mean(np.abs(gold - predicted)),
        "rmse": np.sqrt(squares),
        "r2": without_rounding(1 - _ratio(squares, gold_variance)),
        "pearson": without_rounding(_ratio(covariance, np.sqrt(gold_variance * predicted_variance))),
    }


def _centred(values: Floats) -> Floats:
    """Less their mean; exactly 0 where they are all the same but for rounding."""
    if not len(values) or not more_than_rounding(values):
        return np.zeros(len(values))
    return np.asarray(values - values.mean())


def _without_roundoff(variance: Floats, centred: Floats) -> Floats:
    """Exactly 0 where the drawn values are all the same."""
    largest = np.max(centred**2, initial=0.0)
    return np.where(variance > 1e-12 * largest, variance, 0.0)


def _ratio(numerator: Floats, denominator: ArrayLike) -> Floats:
    """NaN where the denominator is not positive; no warnings."""
    bottom = np.asarray(denominator, dtype=np.float64)
    return np.asarray(np.divide(numerator, bottom, out=np.full(bottom.shape, np.nan), where=bottom > 0))

"""What is fitted on validation documents: temperatures, thresholds, and the limits of conformal sets.

Nothing here sees training or test documents: what comes in are the scores and the gold labels of the validation
documents, and what comes out is stored in the model folder.

Shapes: B documents, C labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_thresholds", "conformal_limits", "shared_threshold", "steady_thresholds", "temperature_where"]

Floats = NDArray[np.float64]

_COLDEST, _HOTTEST = 0.01, 100.0
_FOLDS = 10
_CANDIDATES = 1000  # of one threshold for all labels


def temperature_where(slope: Callable[[float], float]) -> float:
    """The temperature with the least mean negative log-likelihood (Guo et al. 2017, arXiv 1706.04599, section 4.2).

    The likelihood is concave in 1 / temperature, so its slope has one zero, found by bisection. The temperature is
    kept within 0.01 and 100.

    Args:
        slope: 1 / temperature -> minus the slope of the log-likelihood there, in which it only grows.
    """
    low, high = 1 / _HOTTEST, 1 / _COLDEST
    if slope(low) >= 0:
        return _HOTTEST
    if slope(high) <= 0:
        return _COLDEST
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 1 / math.sqrt(low * high)


def best_thresholds(probability: Floats, gold: NDArray[Any]) -> tuple[float, ...]:
    """For each label the probability from which on giving it has the best F1.

    Equal probabilities stand or fall together. Of several best thresholds the nearest to 0.5 is taken, and 0.5 itself
    if it is among them; otherwise it lies in the middle between two probabilities that were seen. A label that no
    document has keeps 0.5: there is nothing to learn from.

    Args:
        probability, gold: (B, C).
    """
    return tuple(_best_threshold(*column) for column in zip(probability.T, gold.astype(bool).T, strict=True))


def shared_threshold(probability: Floats, gold: NDArray[Any]) -> tuple[float, ...]:
    """The one probability from which on giving any label has the best macro F1, once for each label.

    The mean is over labels that a document has. The best one lies at the probability of a right answer, or in the
    middle between that and the next lower one; of many, 1,000 evenly spread ones are tried. Of several best thresholds
    the nearest to 0.5 is taken.

    Args:
        probability, gold: (B, C).
    """
    right, labels = gold.astype(bool), int(probability.shape[1])
    if not right.any():
        return (0.5,) * labels
    lowest = np.unique(probability[right])
    lowest = lowest[np.unique(np.linspace(0, len(lowest) - 1, _CANDIDATES).round().astype(np.intp))]
    f1 = np.zeros((labels, len(lowest)))
    for label, (column, wanted) in enumerate(zip(probability.T, right.T, strict=True)):
        given, found = (len(part) - np.searchsorted(np.sort(part), lowest) for part in (column, column[wanted]))
        f1[label] = 2 * found / np.maximum(given + wanted.sum(), 1)
    mean = f1[right.any(axis=0)].mean(axis=0)
    seen = np.unique(probability)
    best = lowest[mean >= mean.max() - 1e-12]
    below = np.append(0.0, seen)[np.searchsorted(seen, best)]
    candidates = [_between(float(low), float(high)) for low, high in zip(below, best, strict=True)]
    return (min(candidates, key=lambda threshold: abs(threshold - 0.5)),) * labels


def steady_thresholds(probability: Floats, gold: NDArray[Any]) -> tuple[float, ...]:
    """A threshold for each label, or one for all: what has the better macro F1 on documents it was not fitted on.

    A threshold of its own is fitted on the few documents that have the label; where they are very few it follows their
    accidents. Cross-validation says which it is, in ten folds (document n is in fold n mod 10, or each for itself where
    there are fewer than ten), all counted together. Equally good: one for all.

    Args:
        probability, gold: (B, C).
    """
    right = gold.astype(bool)
    documents = len(right)
    if documents < 2 or not right.any():
        return best_thresholds(probability, gold)
    fold = np.arange(documents) % _FOLDS
    scores = []
    for fitted in (shared_threshold, best_thresholds):
        given = np.zeros_like(right)
        for left_out in range(min(_FOLDS, documents)):
            out = fold == left_out
            given[out] = probability[out] >= np.array(fitted(probability[~out], right[~out]))
        both = np.maximum(given.sum(axis=0) + right.sum(axis=0), 1)
        scores.append(float((2 * (given & right).sum(axis=0) / both)[right.any(axis=0)].mean()))
    kind = best_thresholds if scores[1] > scores[0] + 1e-12 else shared_threshold
    return kind(probability, gold)


def conformal_limits(nonconformity: Floats, coverage: float) -> tuple[float, ...]:
    """For each column of (B, limits) the limit within which a share `coverage` of new documents will lie.

    It is the ceil((B + 1) * coverage)-th smallest value, or 1 where there are too few documents to say one.
    """
    count = len(nonconformity)
    rank = math.ceil((count + 1) * coverage - 1e-9)
    ordered = np.sort(nonconformity, axis=0)
    limits = ordered[rank - 1] if rank <= count else np.ones(nonconformity.shape[1])
    return tuple(float(limit) for limit in limits)


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

"""How good vectors are: whether the nearest others of a document are alike. Arrays in, plain Python values out.

Shape letters: B documents, D width of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.errors import UsageError
from longdoc.metrics.intervals import bootstrap_intervals, bootstrap_means, describe_intervals

__all__ = ["NEAREST", "Neighbours", "find_neighbours", "group_numbers", "neighbour_metrics"]

Floats = NDArray[np.float64]

NEAREST = 10
"""How many of the nearest others `recall_at_10` looks at."""
_MOST_LABELS = 100
_BLOCK = 4_000_000  # elements of a table of cosines
_DIGITS = 9  # of cosines: what differs by rounding alone is a tie


class Neighbours(NamedTuple):
    """What each document finds among all others, ordered by cosine.

    A document that nobody is alike has NaN in all measures; one without a vector finds nothing, and has 0. Where
    cosines are equal those that are alike come last.

    Attributes:
        precision_at_1, reciprocal_rank, recall_at_10, average_precision: (B,).
        nearest: int64 (B,), the nearest other; -1 where there is none.
        cosine: (B,), with it.
    """

    precision_at_1: Floats
    reciprocal_rank: Floats
    recall_at_10: Floats
    average_precision: Floats
    nearest: NDArray[np.int64]
    cosine: Floats


def find_neighbours(vectors: ArrayLike, groups: ArrayLike, asking: ArrayLike | None = None) -> Neighbours:
    """Order all others of each document by cosine.

    Args:
        vectors: (B, D), of any length; NaN in a row = no vector, such a document is found by nobody.
        groups: (B,); documents are alike where it is the same.
        asking: bool (B,); where given, these alone ask, and the others alone are found.

    Raises:
        UsageError: shapes do not fit.
    """
    given: Floats = np.asarray(vectors, dtype=np.float64)
    group: NDArray[Any] = np.asarray(groups)
    if given.ndim != 2 or group.shape != (len(given),):
        raise UsageError(
            f"`vectors` must be (B, D) and `groups` (B,), but are {given.shape} and {group.shape} instead."
        )
    count = len(given)
    asks = np.ones(count, dtype=np.bool_) if asking is None else np.asarray(asking, dtype=np.bool_)
    offered = np.ones(count, dtype=np.bool_) if asking is None else ~asks
    has: NDArray[np.bool_] = np.asarray(np.isfinite(given).all(axis=1))
    lengths = np.linalg.norm(np.where(has[:, None], given, 0.0), axis=1, keepdims=True)
    unit = np.where(has[:, None], given, 0.0) / np.maximum(lengths, 1e-12)
    measures = np.full((4, count), np.nan)
    nearest, cosine = np.full(count, -1, dtype=np.int64), np.full(count, np.nan)
    step = max(1, _BLOCK // max(1, count))
    for start in range(0, count, step):
        block = np.round(unit[start : start + step] @ unit.T, _DIGITS)
        for number, cosines in enumerate(block, start):
            if not asks[number]:
                continue
            alike: NDArray[np.bool_] = np.asarray(group == group[number]) & offered
            others = has & offered
            others[number] = alike[number] = False
            wanted = int(alike.sum())
            if wanted:
                measures[:, number] = 0.0
            found = np.flatnonzero(others)
            if not has[number] or not len(found):
                continue
            order = found[np.lexsort((found, alike[found], -cosines[found]))]
            nearest[number], cosine[number] = order[0], cosines[order[0]]
            ranks = np.flatnonzero(alike[order]) + 1
            if len(ranks):
                precision = np.arange(1, len(ranks) + 1) / ranks
                measures[:, number] = (
                    float(ranks[0] == 1),
                    1 / ranks[0],
                    (ranks <= NEAREST).sum() / wanted,
                    precision.sum() / wanted,
                )
    return Neighbours(measures[0], measures[1], measures[2], measures[3], nearest, cosine)


def group_numbers(labels: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The different labels, sorted, and the number of each document's among them, int64 (B,)."""
    names = sorted(set(labels))
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers[label] for label in labels], dtype=np.int64)


def neighbour_metrics(
    vectors: ArrayLike,
    labels: Sequence[str],
    asking: ArrayLike | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Measures of the nearest others, with intervals over the documents that ask.

    Args:
        vectors: (B, D); NaN in a row = no vector.
        labels: of the B documents; those of one label are alike.
        asking: as in `find_neighbours`.
        resamples: of the bootstrap; 0 = no intervals.

    Returns:
        `documents`, `unanswered`, `alone` (documents whose label nobody shares), `precision_at_1`,
        `mean_reciprocal_rank`, `recall_at_10`, `mean_average_precision` (None where all are alone), `intervals`,
        `choices`, and `by_label` unless labels are very many, or only some documents ask.
    """
    given = np.asarray(vectors, dtype=np.float64)
    names, groups = group_numbers(labels)
    found = find_neighbours(given, groups, asking)
    asks = np.isfinite(found.average_precision)
    values = {
        "precision_at_1": found.precision_at_1[asks],
        "mean_reciprocal_rank": found.reciprocal_rank[asks],
        "recall_at_10": found.recall_at_10[asks],
        "mean_average_precision": found.average_precision[asks],
    }
    askers = int(asks.sum())
    alone = (len(given) if asking is None else int(np.sum(asking))) - askers
    others = "all other documents" if asking is None else "all documents that do not ask"
    measured: dict[str, Any] = {
        "documents": len(given),
        "unanswered": int((~np.isfinite(given).all(axis=1)).sum()),
        "alone": alone,
        **{name: float(each.mean()) if askers else None for name, each in values.items()},
        "intervals": bootstrap_intervals(
            lambda counts: bootstrap_means(values, counts), askers, resamples, seed, confidence
        )
        if askers
        else {},
        "choices": {
            "nearest": f"by cosine, among {others}; {askers} ask; of equal ones those that are alike come last",
            "alone": f"{alone} whose label nobody shares: they do not ask, and others may find them",
            "unanswered": "a document without a vector finds nothing and is not found",
            "intervals": describe_intervals(resamples, seed, confidence),
        },
    }
    shared = [number for number in range(len(names)) if asks[groups == number].any()]
    if asking is None and len(shared) <= _MOST_LABELS:
        measured["by_label"] = [_of_label(names[number], groups == number, found) for number in shared]
    return measured


def _of_label(name: str, members: NDArray[np.bool_], found: Neighbours) -> dict[str, Any]:
    return {
        "label": name,
        "support": int(members.sum()),
        "precision_at_1": float(found.precision_at_1[members].mean()),
        "average_precision": float(found.average_precision[members].mean()),
    }

"""Conditional ordinal regression written out: one document and one threshold at a time, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence


def rises(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def probabilities(scores: Sequence[float]) -> list[float]:
    """P(label = k): the label got past every threshold below k, and not past its own."""
    found = []
    for label in range(len(scores) + 1):
        value = 1.0
        for below in range(label):
            value *= rises(scores[below])
        if label < len(scores):
            value *= 1 - rises(scores[label])
        found.append(value)
    return found


def median(probability: Sequence[float]) -> int:
    """The label whose expected distance to the right one is least; of several the lowest."""
    labels = range(len(probability))
    distances = [sum(p * abs(label - other) for other, p in enumerate(probability)) for label in labels]
    least = min(distances)
    return next(label for label in labels if distances[label] <= least + 1e-12)


def loss(scores: Sequence[float], label: int) -> float:
    """The sum of cross entropies of the questions that the label answers."""
    total = 0.0
    for threshold, score in enumerate(scores):
        if threshold < label:
            total -= math.log(rises(score))
        elif threshold == label:
            total -= math.log(1 - rises(score))
    return total

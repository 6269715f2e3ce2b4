"""Mergers document by document, in Python floats: slow, and obviously right."""

from __future__ import annotations

import math
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def mean(rows: Rows, weights: Sequence[float]) -> list[float]:
    """The weighted mean of one document's rows; weights that are all 0 count as 1."""
    weights = weights if sum(weights) > 0 else [1.0] * len(weights)
    return [
        math.fsum(w * row[f] for w, row in zip(weights, rows, strict=True)) / math.fsum(weights)
        for f in range(len(rows[0]))
    ]


def largest(rows: Rows, weights: Sequence[float]) -> list[float]:
    """The largest value of each component among rows that count."""
    counted = [row for row, w in zip(rows, weights, strict=True) if w > 0] or list(rows)
    return [max(row[f] for row in counted) for f in range(len(rows[0]))]


def attention(rows: Rows, weights: Sequence[float], scores: Sequence[float]) -> list[float]:
    """softmax of (score + log weight) over one document's rows."""
    weights = weights if sum(weights) > 0 else [1.0] * len(weights)
    odds = [w * math.exp(s) for w, s in zip(weights, scores, strict=True)]
    return mean(rows, odds)

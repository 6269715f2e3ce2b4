"""Mergers document by document, in Python floats: slow, and obviously right."""

from __future__ import annotations

import math
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def heard(rows: Rows, weights: Sequence[float]) -> list[Sequence[float]]:
    """Rows that count: those of some weight; all where none has any."""
    return [row for row, w in zip(rows, weights, strict=True) if w > 0] or list(rows)


def mean(rows: Rows, weights: Sequence[float]) -> list[float]:
    """The weighted mean of one document's rows; weights that are all 0 count as 1."""
    weights = weights if sum(weights) > 0 else [1.0] * len(weights)
    return [
        math.fsum(w * row[f] for w, row in zip(weights, rows, strict=True) if w > 0) / math.fsum(weights)
        for f in range(len(rows[0]))
    ]


def largest(rows: Rows, weights: Sequence[float]) -> list[float]:
    """The largest value of each component among rows that count."""
    return [max(row[f] for row in heard(rows, weights)) for f in range(len(rows[0]))]


def attention(rows: Rows, weights: Sequence[float], scores: Sequence[float]) -> list[float]:
    """softmax of (score + log weight) over one document's rows."""
    weights = weights if sum(weights) > 0 else [1.0] * len(weights)
    odds = [w * math.exp(s) for w, s in zip(weights, scores, strict=True)]
    return mean(rows, odds)


def logsumexp(rows: Rows, weights: Sequence[float], sharpness: float = 1.0) -> list[float]:
    """The mean of exp(sharpness * value), and back."""
    powers = [[math.exp(sharpness * value) for value in row] for row in rows]
    return [math.log(value) / sharpness for value in mean(powers, weights)]


def noisy_or(rows: Rows, weights: Sequence[float]) -> list[float]:
    """Probabilities, not logarithms: P = 1 - product of (1 - p)."""
    merged = []
    for f in range(len(rows[0])):
        none_says_so = math.prod(1 - 1 / (1 + math.exp(-row[f])) for row in heard(rows, weights))
        merged.append(math.log((1 - none_says_so) / none_says_so))
    return merged


def label_attention(
    states: Rows, scorer: Rows, scorer_bias: Sequence[float], labels: Rows, outputs: Rows, bias: Sequence[float]
) -> list[float]:
    """One softmax a label over all tokens of a document, whose states are given in one list."""
    answers = []
    for wanted, output, b in zip(labels, outputs, bias, strict=True):
        scores = []
        for state in states:
            inner = [math.tanh(_dot(row, state) + c) for row, c in zip(scorer, scorer_bias, strict=True)]
            scores.append(_dot(wanted, inner))
        odds = [math.exp(score) for score in scores]
        values = [_dot(output, state) for state in states]
        answers.append(math.fsum(o * v for o, v in zip(odds, values, strict=True)) / math.fsum(odds) + b)
    return answers


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))

"""Sequences of tags and matches of spans, written out: every sequence is tried, every pair is compared."""

from __future__ import annotations

import itertools
import math

import numpy as np


def every_path(words: np.ndarray, start: np.ndarray, step: np.ndarray, end: np.ndarray) -> dict[tuple[int, ...], float]:
    """Sequence -> score, for one layer: words (U, K), start and end (K,), step (K, K)."""
    scores = {}
    for path in itertools.product(range(words.shape[1]), repeat=len(words)):
        score = start[path[0]] + end[path[-1]] + sum(words[t, tag] for t, tag in enumerate(path))
        score += sum(step[i, j] for i, j in itertools.pairwise(path))
        scores[path] = float(score)
    return scores


def log_sum(values: list[float]) -> float:
    high = max(values)
    return high + math.log(sum(math.exp(value - high) for value in values))


def spelled(path: tuple[int, ...], tags: list[tuple[str, int]]) -> set[tuple[int, int, int]]:
    """(label, first, end) of the spans in a path, read word by word: B and S begin one, I and E go on with one of their
    label that B or I left open and begin one otherwise, E and S close it."""
    found: set[tuple[int, int, int]] = set()
    label, first = None, 0
    for word, number in enumerate([*path, None]):
        role, name = tags[number] if number is not None else ("O", -1)
        goes_on = role in ("I", "E") and label == name
        if label is not None and not goes_on:
            found.add((label, first, word))
            label = None
        if role != "O" and not goes_on:
            label, first = name, word
        if role in ("E", "S"):
            found.add((label, first, word + 1))
            label = None
    return found

"""Kinds that score by distance, pair by pair, from their papers: slow, and obviously right."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def alibi_slopes_slowly(heads: int) -> list[float]:
    """The slopes of the authors' code (Press et al. 2022): powers of two, else two geometric rows put together."""
    if heads & (heads - 1) == 0:
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**k for k in range(heads)]
    below = 2 ** math.floor(math.log2(heads))
    return alibi_slopes_slowly(below) + alibi_slopes_slowly(2 * below)[0::2][: heads - below]


def alibi_slowly(positions: Sequence[int], heads: int) -> list[list[list[float]]]:
    """The bias, [head][query][key]."""
    return [[[-slope * abs(i - j) for j in positions] for i in positions] for slope in alibi_slopes_slowly(heads)]


def t5_bucket(distance: int, buckets: int = 32, max_distance: int = 128) -> int:
    """The bucket of one distance, key minus query (Raffel et al. 2020)."""
    half = buckets // 2
    start = half if distance > 0 else 0
    far, exact = abs(distance), half // 2
    if far < exact:
        return start + far
    logarithmic = exact + int(math.log(far / exact) / math.log(max_distance / exact) * (half - exact))
    return start + min(logarithmic, half - 1)


def deberta_bucket(distance: int, buckets: int = 256, max_distance: int = 512) -> int:
    """The signed bucket of one distance, query minus key (He et al. 2021)."""
    middle = buckets // 2
    if abs(distance) <= middle:
        return distance
    ratio = math.log(abs(distance) / middle) / math.log((max_distance - 1) / middle)
    return (math.ceil(ratio * (middle - 1)) + middle) * (1 if distance > 0 else -1)


def disentangled_slowly(
    q: Tensor, k: Tensor, position_queries: Tensor, position_keys: Tensor, buckets: int, max_distance: int
) -> Tensor:
    """Scaled scores (L, L) of one head: content and position. Tables (2 * buckets, Dh)."""
    length, width = q.shape
    out = torch.zeros(length, length, dtype=torch.float64)
    for i in range(length):
        for j in range(length):
            row = min(max(deberta_bucket(i - j, buckets, max_distance) + buckets, 0), 2 * buckets - 1)
            out[i, j] = q[i] @ k[j] + q[i] @ position_keys[row] + k[j] @ position_queries[row]
    return out / math.sqrt(3 * width)


def path_slowly(path: Sequence[int], steps: int, branching: int, decays: Sequence[float]) -> list[float]:
    """The vector of a path from the root, children counted from 0 (Shiv and Quirk 2019): a stack, pushed to."""
    vector = [[0.0] * len(decays) for _ in range(steps * branching)]
    for child in path:
        pushed = [[1.0 if b == child else 0.0] * len(decays) for b in range(branching)]
        older = [[x * p for x, p in zip(row, decays, strict=True)] for row in vector]
        vector = (pushed + older)[: steps * branching]
    size = steps * branching * len(decays)
    factors = [math.sqrt(1 - p * p) * math.sqrt(size / 2) for p in decays]
    return [x * f for row in vector for x, f in zip(row, factors, strict=True)]

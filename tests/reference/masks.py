"""Masks pair by pair: slow, and obviously right. All give bool (N, L, L): row, query, key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def pairs(rows: int, length: int, rule: Callable[[int, int, int], bool]) -> Tensor:
    """A mask from a rule on (row, query, key)."""
    out = torch.zeros(rows, length, length, dtype=torch.bool)
    for n in range(rows):
        for i in range(length):
            for j in range(length):
                out[n, i, j] = rule(n, i, j)
    return out


def padding(valid: Sequence[Sequence[bool]]) -> Tensor:
    return pairs(len(valid), len(valid[0]), lambda n, i, j: bool(valid[n][j]))


def causal(positions: Sequence[Sequence[int]]) -> Tensor:
    return pairs(len(positions), len(positions[0]), lambda n, i, j: positions[n][j] <= positions[n][i])


def sliding_window(positions: Sequence[Sequence[int]], radius: int) -> Tensor:
    return pairs(
        len(positions), len(positions[0]), lambda n, i, j: -radius <= positions[n][j] - positions[n][i] <= radius
    )


def blocks(segments: Sequence[Sequence[int]]) -> Tensor:
    return pairs(len(segments), len(segments[0]), lambda n, i, j: segments[n][i] == segments[n][j])


def globals_(is_global: Sequence[Sequence[bool]]) -> Tensor:
    return pairs(len(is_global), len(is_global[0]), lambda n, i, j: bool(is_global[n][i] or is_global[n][j]))

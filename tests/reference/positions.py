"""Position encodings number by number, from their papers: slow, and obviously right."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import torch
from torch import Tensor


def sinusoid(position: int, width: int, layout: str = "interleaved", base: float = 10000.0) -> list[float]:
    """The vector of one position (Vaswani et al. 2017, section 3.5)."""
    sines = [math.sin(position / base ** (2 * i / width)) for i in range((width + 1) // 2)]
    cosines = [math.cos(position / base ** (2 * i / width)) for i in range(width // 2)]
    if layout == "concat":
        return sines + cosines
    return [cosines[d // 2] if d % 2 else sines[d // 2] for d in range(width)]


def turn(vector: Sequence[float], position: int, layout: str, theta: float, turned: int) -> list[float]:
    """A query or key, its pairs turned as complex numbers (Su et al. 2021)."""
    out = list(vector)
    for i in range(turned // 2):
        a, b = (i, i + turned // 2) if layout == "half" else (2 * i, 2 * i + 1)
        pair = complex(vector[a], vector[b]) * cmath.exp(1j * position * theta ** (-2 * i / turned))
        out[a], out[b] = pair.real, pair.imag
    return out


def shaw_slowly(q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, reach: int) -> Tensor:
    """Relative positions on keys and values (Shaw et al. 2018, equations 3 and 4). Tables (2 * reach + 1, Dh)."""
    rows, heads, length, width = q.shape
    out = torch.zeros(rows, heads, length, width, dtype=torch.float64)
    for n in range(rows):
        for h in range(heads):
            for i in range(length):
                near = [min(max(j - i, -reach), reach) + reach for j in range(length)]
                scores = torch.stack([q[n, h, i] @ (k[n, h, j] + keys[near[j]]) for j in range(length)])
                weights = (scores / math.sqrt(width)).softmax(0)
                out[n, h, i] = sum(weights[j] * (v[n, h, j] + values[near[j]]) for j in range(length))
    return out


def count_slowly(valid: Sequence[bool], segments: Sequence[int]) -> list[int]:
    """Real tokens before each token in its segment; what it says of padding means nothing."""
    out: list[int] = []
    for i, segment in enumerate(segments):
        before = [j for j in range(i) if segments[j] == segment and valid[j]]
        out.append(len(before))
    return out

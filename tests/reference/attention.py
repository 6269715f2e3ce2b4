"""Attention written out number by number, in Python floats: slow, and obviously right."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def attend_slowly(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    allowed: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """softmax(q k^T * scale + bias) v over allowed keys; a query without any gives 0. All (N, H, L, Dh)."""
    q, k, v = (x.detach() for x in (q, k, v))
    rows, heads, length, width = q.shape
    scale = 1 / math.sqrt(width) if scale is None else scale
    shape = (rows, heads, length, length)
    seen = torch.ones(shape, dtype=torch.bool) if allowed is None else allowed.expand(shape)
    added = torch.zeros(shape, dtype=torch.float64) if bias is None else bias.double().expand(shape)
    out = torch.zeros(rows, heads, length, width, dtype=torch.float64)
    for n in range(rows):
        for h in range(heads):
            for i in range(length):
                keys = [j for j in range(length) if seen[n, h, i, j]]
                scores = {}
                for j in keys:
                    product = sum(float(q[n, h, i, d]) * float(k[n, h, j, d]) for d in range(width))
                    scores[j] = product * scale + float(added[n, h, i, j])
                total = sum(math.exp(scores[j] - max(scores.values())) for j in keys)
                for j in keys:
                    weight = math.exp(scores[j] - max(scores.values())) / total
                    for d in range(width):
                        out[n, h, i, d] += weight * float(v[n, h, j, d])
    return out

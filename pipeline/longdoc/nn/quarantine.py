"""Numbers that would leak through an attention kernel: 0 * NaN = NaN, inf - inf = NaN.

A masked key has weight 0, but its product with what stands in the padding (uninitialised memory, say) may be NaN.
Such numbers are taken out before the kernel, and NaN is put where it belongs afterwards: into the queries that may
see them, since a fault must show.

Shape letters: N rows, H heads, L length, Dh width of a head.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.nn.mask import AttentionMask

__all__ = ["quarantine", "surely_harmless"]

_SAFE = 1e18  # products of two such numbers, summed over a head, stay finite in float32


def surely_harmless(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether no number can leak through a kernel. Asked only where the answer costs no wait for a device."""
    if q.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    limit = _limit(q)
    return all(-limit <= float(low) and float(high) <= limit for low, high in (x.detach().aminmax() for x in (q, k, v)))


def quarantine(q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Zeros in place of numbers that leak, and who must see NaN. `mask.allowed` is a tensor.

    Returns:
        q, k, v, and bool (N, H, L, 1): queries that are broken themselves or may attend to a broken key or value.
    """
    assert mask.allowed is not None
    limit = _limit(q)
    broken_queries = ~(q.abs() <= limit).all(-1, keepdim=True)
    broken_keys = ~((k.abs() <= limit).all(-1) & (v.abs() <= limit).all(-1))
    sees_broken = (mask.allowed & broken_keys[..., None, :]).any(-1, keepdim=True)
    silent = broken_keys[..., None]
    return (
        q.masked_fill(broken_queries, 0.0),
        k.masked_fill(silent, 0.0),
        v.masked_fill(silent, 0.0),
        sees_broken | (broken_queries & mask.answerable),
    )


def _limit(q: Tensor) -> float:
    return min(_SAFE, torch.finfo(q.dtype).max)

"""Positions where the caller gives none: counted from the real tokens, so that padding may stand on either side."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["count_positions"]


def count_positions(token_ids: Tensor, valid: Tensor | None, segments: Tensor | None) -> Tensor:
    """How many real tokens stand before each token in its segment.

    Args:
        token_ids: (N, L); only its shape and device matter.
        valid: bool (N, L), True = a real token; None = all.
        segments: (N, L), each segment one run of neighbours; None = each row is one.

    Returns:
        int64 (N, L), or (1, L) where neither is given: 0, 1, 2 ..., from 0 again in each segment. Padding has the
        position of the real token before it, and -1 before the first.
    """
    if valid is None and segments is None:
        return torch.arange(token_ids.shape[1], device=token_ids.device)[None]
    real = torch.ones_like(token_ids, dtype=torch.int64) if valid is None else valid.to(torch.int64)
    counts = real.cumsum(-1)
    if segments is None:
        return counts - 1
    before = counts - real
    starts = torch.zeros_like(counts)
    starts[:, 1:] = torch.where(segments[:, 1:] != segments[:, :-1], before[:, 1:], 0)
    return counts - 1 - starts.cummax(-1).values

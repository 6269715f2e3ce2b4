"""What each chunk gives to a score that is no sum over chunks: integrated gradients along a straight path.

Source: Sundararajan et al. 2017, "Axiomatic attribution for deep networks" (arXiv 1703.01365). The path leads from
rows of zeros, where no chunk says anything, to the rows themselves. What is attributed adds up to the difference of
the two scores ("completeness"), rows that change nothing get nothing, and for a weighted sum the result is the one
that everybody would write down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

__all__ = ["integrated_slopes"]


def integrated_slopes(
    score: Callable[[Tensor], Tensor], rows: Tensor, tolerance: float = 1e-4, most_points: int = 256
) -> Tensor:
    """The mean gradient of scores with respect to rows, over the path t * rows, t from 0 to 1.

    Args:
        score: rows (N, F) -> one score a document (B,).
        rows: (N, F).
        tolerance: points of the quadrature (Gauss-Legendre) are doubled until what is attributed adds up to
            score(rows) - score(0) within this share of it (or of 1, if it is smaller) ...
        most_points: ... or there are so many.

    Returns:
        (N, F): slopes * rows is what each chunk gives.
    """
    points = 8
    with torch.inference_mode(False), torch.enable_grad():
        rows = rows.detach().clone()
        with torch.no_grad():
            whole = float((score(rows) - score(torch.zeros_like(rows))).double().sum())
        while True:
            slopes = torch.zeros_like(rows, dtype=torch.float64 if rows.device.type != "mps" else rows.dtype)
            for place, weight in zip(*np.polynomial.legendre.leggauss(points), strict=True):
                at = ((place + 1) / 2 * rows).requires_grad_()
                (gradient,) = torch.autograd.grad(score(at).sum(), at)
                slopes += weight / 2 * gradient
            gap = abs(float((slopes * rows).sum()) - whole)
            if gap <= tolerance * max(1.0, abs(whole)) or 2 * points > most_points:
                return slopes.to(rows.dtype)
            points *= 2

"""Targets that are not quite certain."""

from __future__ import annotations

from torch import Tensor

__all__ = ["smoothed"]


def smoothed(targets: Tensor, share: float, answers: int) -> Tensor:
    """Targets of 0 and 1 with a share of the certainty spread evenly over so many answers (Szegedy et al. 2016)."""
    return targets * (1 - share) + share / answers if share else targets

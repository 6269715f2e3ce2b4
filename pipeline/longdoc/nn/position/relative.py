"""What the kinds that speak to the scores share: distances, and the plan of a bias that all layers use."""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.plan import PositionPlan

__all__ = ["SharedBiasPlan", "distances"]


def distances(positions: Tensor) -> Tensor:
    """Key minus query in the reading order: positions (1|N, L), or with further axes -> int64 (1|N, L, L)."""
    order = reading_order(positions).to(torch.int64).reshape(-1, positions.shape[-1])
    return order[:, None, :] - order[:, :, None]


class SharedBiasPlan(PositionPlan):
    """One bias for all layers, made once a forward pass.

    Args:
        bias: (1|N, 1|H, L, L).
        scale: factor of the query-key products; None = 1 / sqrt(Dh).
    """

    def __init__(self, bias: Tensor, scale: float | None = None) -> None:
        self._bias = bias
        self.scale = scale

    def bias(self, q: Tensor, layer: int) -> Tensor:
        return self._bias

"""Focal loss: what is answered well already counts for less (Lin et al. 2017, arXiv 1708.02002).

The cross entropy of an answer with the probability p is multiplied by (1 - p) ** gamma. With `gamma: 0` it is cross
entropy. With smoothed targets each answer's part has its own factor.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from longdoc.tasks.losses.base import LossChoice
from longdoc.tasks.losses.smoothing import smoothed

__all__ = ["FocalConfig"]


class FocalConfig(LossChoice):
    """Focal loss."""

    kind: Literal["focal"] = "focal"
    gamma: float = Field(default=2.0, ge=0, le=10)
    """How fast a good answer stops counting; 0: cross entropy."""

    def one_label(self, scores: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        logarithms = F.log_softmax(scores, dim=-1)
        right = F.one_hot(targets, scores.shape[-1]).to(scores.dtype)
        wanted = smoothed(right, self.label_smoothing, scores.shape[-1])
        parts = wanted * self._part(logarithms)
        return (parts if weights is None else parts * weights).sum(dim=-1)

    def each_label(self, scores: Tensor, targets: Tensor, positive_weights: Tensor | None) -> Tensor:
        wanted = smoothed(targets, self.label_smoothing, 2)
        yes = wanted * self._part(F.logsigmoid(scores))
        no = (1 - wanted) * self._part(F.logsigmoid(-scores))
        return (yes if positive_weights is None else yes * positive_weights) + no

    def of_surprise(self, surprise: Tensor) -> Tensor:
        return self._part(-surprise)

    def _part(self, logarithms: Tensor) -> Tensor:
        """log p -> (1 - p) ** gamma * -log p, with 1 - p to its last digit however sure the answer is."""
        # The power of an exact zero has no finite slope for gamma below 1.
        missing = (-torch.expm1(logarithms)).clamp(min=torch.finfo(logarithms.dtype).tiny)
        return missing**self.gamma * -logarithms

"""Minus the logarithm of the right answer's probability."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional as F

from longdoc.tasks.losses.base import LossChoice
from longdoc.tasks.losses.smoothing import smoothed

__all__ = ["CrossEntropyConfig"]


class CrossEntropyConfig(LossChoice):
    """Cross entropy, of one answer among several or of each answer yes or no."""

    kind: Literal["cross_entropy"] = "cross_entropy"

    def one_label(self, scores: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        return F.cross_entropy(scores, targets, weight=weights, reduction="none", label_smoothing=self.label_smoothing)

    def each_label(self, scores: Tensor, targets: Tensor, positive_weights: Tensor | None) -> Tensor:
        wanted = smoothed(targets, self.label_smoothing, 2)
        return F.binary_cross_entropy_with_logits(scores, wanted, pos_weight=positive_weights, reduction="none")

    def of_surprise(self, surprise: Tensor) -> Tensor:
        return surprise

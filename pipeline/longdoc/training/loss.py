"""The loss of a document, for every task. Always in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch.nn import functional as F

from longdoc.types import Task

__all__ = ["DocumentLoss"]


class DocumentLoss:
    """Losses of documents from their scores.

    Args:
        task: cross entropy over labels, binary cross entropy for each label, or squared error.
        targets: of all training documents; only `class_weights` looks at them.
        classes: number of labels C.
        class_weights: `balanced` weighs each label by inverse frequency (multi label: its positives by the ratio of
            negatives to positives); a label that never occurs weighs 1.
    """

    def __init__(
        self,
        task: Task,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: Literal["none", "balanced"] = "none",
    ) -> None:
        self.task: Task = task
        self.weights: torch.Tensor | None = None
        if class_weights == "balanced" and task != "regression":
            stacked = torch.stack(list(targets))
            if task == "single_label":
                counts = torch.bincount(stacked, minlength=classes).float()
                self.weights = torch.where(counts > 0, len(stacked) / (classes * counts.clamp(min=1)), 1.0)
            else:
                positive = stacked.sum(0)
                ratio = (len(stacked) - positive) / positive.clamp(min=1)
                self.weights = torch.where(positive > 0, ratio, 1.0)

    def __call__(self, logits: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """(B, C) scores and B targets -> (B,) losses, float32."""
        stacked = torch.stack(list(targets)).to(logits.device)
        scores = logits.float()
        weights = None if self.weights is None else self.weights.to(logits.device)
        if self.task == "regression":
            return (scores[:, 0] - stacked).square()
        if self.task == "multi_label":
            parts = F.binary_cross_entropy_with_logits(scores, stacked, pos_weight=weights, reduction="none")
            return parts.mean(dim=1)
        return F.cross_entropy(scores, stacked, weight=weights, reduction="none")

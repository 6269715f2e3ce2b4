"""What every loss of labels can say: how much an answer costs, for the three ways in which tasks score labels.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field
from torch import Tensor

from longdoc.schema import Config

__all__ = ["LossChoice"]


class LossChoice(Config):
    """A loss to learn labels by. One kind a file; measuring always takes plain cross entropy.

    Attributes:
        kind: its word in configurations.
        label_smoothing: share of the certainty that is taken from the right answer and spread evenly over all answers
            (Szegedy et al. 2016, arXiv 1512.00567, section 7): over the labels, or over yes and no of each label.
    """

    kind: str
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)

    @abstractmethod
    def one_label(self, scores: Tensor, targets: Tensor, weights: Tensor | None) -> Tensor:
        """Losses (B,) of softmax scores.

        Args:
            scores: float32 (B, C).
            targets: int64 (B,), the right label of each document.
            weights: (C,), of the labels; with smoothing each label's part weighs its own, as in `torch`.
        """

    @abstractmethod
    def each_label(self, scores: Tensor, targets: Tensor, positive_weights: Tensor | None) -> Tensor:
        """Losses (B, C) of the questions yes or no that a sigmoid answers.

        Args:
            scores: float32 (B, C).
            targets: float32 (B, C), 1 for yes.
            positive_weights: (C,), of a yes.
        """

    @abstractmethod
    def of_surprise(self, surprise: Tensor) -> Tensor:
        """Losses (B,) where minus the logarithm of the right label's probability is known, float32 (B,)."""

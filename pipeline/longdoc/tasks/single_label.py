"""One right label a document: softmax over the labels, cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.nn.exact import exact
from longdoc.nn.readout import Readout
from longdoc.tasks.base import ClassWeights
from longdoc.tasks.document_task import Floats
from longdoc.tasks.fitting import temperature_where
from longdoc.tasks.losses import PLAIN, LossChoice, LossWishes, refuse_positive_weights
from longdoc.tasks.one_label import OneLabelTask, balanced_weights

__all__ = ["SingleLabel"]


class SingleLabel(OneLabelTask):
    """Softmax over the labels, cross entropy; the label with the highest score is the answer."""

    name = "single_label"
    problem_type = "single_label_classification"
    metric_names = ("loss", "accuracy", "macro_f1", "micro_f1")
    table = ("accuracy", "macro_f1", "expected_calibration_error")

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
        kind: LossChoice = PLAIN,
    ) -> SoftmaxLoss:
        return SoftmaxLoss(None if class_weights == "none" else balanced_weights(targets, classes), kind)

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        refuse_positive_weights(self.name, wishes)

    def probabilities(self, logits: NDArray[Any], temperature: float = 1.0) -> Floats:
        """Softmax. In float64, so that the probabilities of an answer add up to one within 1e-15."""
        scores = np.asarray(logits, dtype=np.float64) / temperature
        shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))

    def scores_of(self, probability: Floats, least: float) -> Floats:
        """Logarithms."""
        return np.log(np.clip(probability, least, 1 - least))

    def best(self, scores: Floats) -> NDArray[np.intp]:
        """The label with the highest probability."""
        return np.asarray(scores.argmax(axis=-1))

    def fit_temperature(self, logits: Floats, gold: NDArray[Any]) -> float:
        """As `temperature_where`, and 1 where it makes no difference.

        Targets are smoothed as by Platt 1999: of n documents that all are right, n + 1 of n + 2 are taken to be, and
        the other labels share the rest. Otherwise a model that makes no error on a few documents would be told to be
        infinitely sure. For hundreds of documents the difference is small, however many labels there are.
        """
        count, labels = logits.shape
        targets = np.full((count, labels), 1 / (count + 2) / max(1, labels - 1))
        targets[np.arange(count), gold.astype(np.intp)] = (count + 1) / (count + 2)
        scores = logits - logits.max(axis=1, keepdims=True)
        if not scores.any():
            return 1.0
        wanted = float((targets * scores).sum())
        return temperature_where(
            lambda inverse: float((self.probabilities(scores, 1 / inverse) * scores).sum()) - wanted
        )


class SoftmaxLoss:
    """Losses of documents with one right label.

    Attributes:
        weights: (C,) or None. A label weighs by its inverse frequency; one that never occurs weighs 1.
        kind: cross entropy, or what else was chosen.
    """

    def __init__(self, weights: torch.Tensor | None, kind: LossChoice = PLAIN) -> None:
        self.weights, self.kind = weights, kind

    def __call__(self, scores: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """(B, C) scores and B targets -> (B,) losses, float32 or finer."""
        scores, stacked = exact(scores), torch.stack(list(targets)).to(scores.device)
        weights = None if self.weights is None else self.weights.to(scores)
        return self.kind.one_label(scores, stacked, weights)

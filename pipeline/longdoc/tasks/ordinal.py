"""One right label of several that stand in an order: grades, severities, stars.

The scores are those of conditional ordinal regression (CORN: Shi, Cao and Raschka 2021, arXiv 2111.08851; in statistics
the continuation-ratio model): score k is the logit of "higher than label k, given that it is no lower". So
P(label > k) is a product of k + 1 probabilities, which can only fall with k, whatever the scores are.

CORAL (Cao, Mirjalili and Raschka 2020, arXiv 1901.07884) reaches the same order by one shared weight vector with a bias
for each threshold. That would be a head of its own and would ask of every passage one question only, how high; here
each threshold is a score like any other, so every readout and merger takes part, and a threshold may look for words of
its own.

Shape letters: B documents, C labels from low to high, C - 1 scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError
from longdoc.metrics.ordinal import bootstrap_kappa, ordinal_metrics
from longdoc.nn.exact import exact
from longdoc.nn.readout import Readout, ReadoutKind
from longdoc.tasks.base import ClassWeights
from longdoc.tasks.document_task import Floats
from longdoc.tasks.fitting import temperature_where
from longdoc.tasks.losses import PLAIN, LossChoice, LossWishes, refuse_positive_weights
from longdoc.tasks.one_label import OneLabelTask, balanced_weights
from longdoc.types import Document, DocumentPrediction

__all__ = ["Ordinal"]


class Ordinal(OneLabelTask):
    """Labels in an order. The answer is the median of the labels' probabilities, which makes the expected distance to
    the right one least; it need not be the most probable label."""

    name = "ordinal"
    ordered = True
    metric_names = ("loss", "quadratic_weighted_kappa", "mae", "accuracy", "macro_f1")
    automatic = "quadratic_weighted_kappa"
    lower_is_better = frozenset({"loss", "mae"})
    table = ("quadratic_weighted_kappa", "mae", "accuracy")

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        """From low to high, if all are numbers; else only `model.labels` can say the order."""
        labels = super().collect_labels(documents)
        values = {label: _number(label) for label in labels}
        if strange := sum(value is None for value in values.values()):
            raise DataError(
                f"`model.task: ordinal` needs to know the order of its labels, but {strange} of {len(labels)} are no "
                "numbers. Name them all in `model.labels`, from low to high."
            )
        return tuple(sorted(labels, key=lambda label: (values[label] or 0.0, label)))

    def check_validation(self, documents: Sequence[Document], metric: str) -> None:
        if metric == "quadratic_weighted_kappa" and documents and len({d.label for d in documents}) == 1:
            raise DataError(
                "`training.metric_for_best_model: quadratic_weighted_kappa` needs validation documents with different "
                "labels, but all have the same. Choose mae."
            )

    def classes(self, labels: Sequence[str], readout: ReadoutKind) -> int:
        return len(labels) - 1

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
        kind: LossChoice = PLAIN,
    ) -> OrdinalLoss:
        return OrdinalLoss(None if class_weights == "none" else balanced_weights(targets, classes + 1), kind)

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        refuse_positive_weights(self.name, wishes)
        if wishes.loss.label_smoothing:
            raise ConfigurationError(
                "`training.loss.label_smoothing` must be 0 for the task ordinal, where a label far from the right one "
                f"is not as good as one beside it, but is {wishes.loss.label_smoothing:g} instead. Leave it out."
            )

    def probabilities(self, logits: NDArray[Any], temperature: float = 1.0) -> Floats:
        """Scores (..., C - 1) -> probabilities (..., C), in float64; they add up to one within 1e-15 a label."""
        scores = np.clip(np.asarray(logits, dtype=np.float64) / temperature, -700, 700)
        rises = 1.0 / (1.0 + np.exp(-scores))
        above = np.cumprod(rises, axis=-1)
        reached = np.concatenate([np.ones_like(above[..., :1]), above], axis=-1)
        stops = np.concatenate([1.0 / (1.0 + np.exp(scores)), np.ones_like(above[..., :1])], axis=-1)
        return np.asarray(reached * stops)

    def scores_of(self, probability: Floats, least: float) -> Floats:
        """Log-odds of being higher than a label, given that it is no lower."""
        bounded = np.clip(probability, least, 1 - least)
        above = np.flip(np.cumsum(np.flip(bounded, axis=-1), axis=-1), axis=-1)[..., 1:]
        return np.asarray(np.log(above / bounded[..., :-1]))

    def best(self, scores: Floats) -> NDArray[np.intp]:
        """The median: the first label at which half of the probability lies no higher."""
        return np.asarray((np.cumsum(scores, axis=-1)[..., :-1] < 0.5).sum(axis=-1))

    def order(self, probability: Floats) -> NDArray[np.intp]:
        """The median first, the others by their probabilities."""
        best = int(self.best(probability))
        ranked = np.argsort(-probability, kind="stable")
        return np.concatenate([[best], ranked[ranked != best]]).astype(np.intp)

    def fit_temperature(self, logits: Floats, gold: NDArray[Any]) -> float:
        """As in `MultiLabel`, for the questions that a document's label answers: "higher than k?" up to the first no.

        A temperature may move the median.
        """
        thresholds = np.arange(logits.shape[1])
        asked, yes = gold[:, None] >= thresholds, gold[:, None] > thresholds
        ayes = yes.sum(axis=0)
        noes = asked.sum(axis=0) - ayes
        targets = np.where(yes, (ayes + 1) / (ayes + 2), 1 / (noes + 2))
        scores = np.where(asked, logits, 0.0)
        if not scores.any():
            return 1.0
        wanted = float((targets * scores).sum())

        def slope(inverse: float) -> float:
            return float((scores / (1.0 + np.exp(-np.clip(scores * inverse, -700, 700)))).sum()) - wanted

        return temperature_where(slope)

    def measure_probabilities(
        self,
        gold: NDArray[Any],
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """As in `LabelTask`, and `mae` and `quadratic_weighted_kappa` of the labels' numbers."""
        measured = super().measure_probabilities(gold, scores, labels, decisions, **options)
        options.pop("average_over", None)
        predicted = self.predicted(np.asarray(scores, dtype=np.float64), decisions or Decisions())
        ranked = ordinal_metrics(gold, predicted, **options)
        return (
            measured
            | ranked
            | {
                "intervals": ranked["intervals"] | measured["intervals"],
                "choices": measured["choices"] | ranked["choices"],
            }
        )

    def explained(self, prediction: DocumentPrediction, labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """The thresholds on both sides of the answer, each by the label above it: what speaks for that label or a
        higher one, given that it is no lower than the one below; below zero, what speaks against.
        """
        rank = labels.index(prediction.labels[0].label)
        return tuple((labels[k + 1], k) for k in (rank - 1, rank) if 0 <= k < len(labels) - 1)

    def resampled(self, gold: NDArray[Any], compared: NDArray[Any], counts: Floats) -> Floats:
        answered = compared.any(axis=1)
        ranks = compared.argmax(axis=1)
        return bootstrap_kappa(np.asarray(gold)[answered], ranks[answered], counts[:, answered])


class OrdinalLoss:
    """Minus the logarithm of the right label's probability, times the label's weight.

    It is a sum of binary cross entropies, one for each question "higher than k?" that the label answers.

    Attributes:
        weights: (C,) or None.
        kind: cross entropy, or what else was chosen.
    """

    def __init__(self, weights: torch.Tensor | None, kind: LossChoice = PLAIN) -> None:
        self.weights, self.kind = weights, kind

    def __call__(self, scores: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """(B, C - 1) scores and B targets -> (B,) losses, float32 or finer."""
        scores, ranks = exact(scores), torch.stack(list(targets)).to(scores.device)
        thresholds = torch.arange(scores.shape[1], device=scores.device)
        asked, higher = ranks[:, None] >= thresholds, (ranks[:, None] > thresholds).to(scores.dtype)
        parts = F.binary_cross_entropy_with_logits(scores, higher, reduction="none")
        losses = self.kind.of_surprise((parts * asked).sum(1))
        return losses if self.weights is None else losses * self.weights.to(scores)[ranks]


def _number(label: str) -> float | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

"""Any number of right labels a document: a sigmoid and a threshold for each, binary cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import ConformalSets, Decisions, plausible_labels
from longdoc.errors import ConfigurationError, DataError, counted
from longdoc.nn.exact import exact
from longdoc.nn.readout import Readout
from longdoc.tasks.base import ClassWeights
from longdoc.tasks.decision_settings import ThresholdWish
from longdoc.tasks.document_task import Floats
from longdoc.tasks.fitting import best_thresholds, shared_threshold, steady_thresholds, temperature_where
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.losses import PLAIN, LossChoice, LossWishes
from longdoc.tasks.outcomes import MISSING, Outcome, chance_of, surprise_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["MultiLabel"]

_THRESHOLD = 0.5
_THRESHOLDS = {"f1": steady_thresholds, "f1_per_label": best_thresholds, "f1_shared": shared_threshold}


class MultiLabel(LabelTask):
    """Each label is a question of its own: those that reach their thresholds are given."""

    name = "multi_label"
    field = "labels"
    problem_type = "multi_label_classification"
    several = True
    metric_names = ("loss", "macro_f1", "micro_f1", "macro_average_precision")
    table = ("micro_f1", "macro_f1", "macro_average_precision")
    outcome_name = "F1 of a document's labels"

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        labels = {label for document in documents for label in document.labels or ()}
        if not labels:
            raise DataError("`model.task: multi_label` needs at least 1 label, but the data have none.")
        return tuple(sorted(labels))

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return document.labels or ()

    def check_validation(self, documents: Sequence[Document], metric: str) -> None:
        if metric != "loss" and documents and not any(document.labels for document in documents):
            raise DataError(
                f"`training.metric_for_best_model: {metric}` needs validation documents with labels, but none has one. "
                "Choose loss."
            )

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """float32 (C,): 1 for labels that the document has."""
        given = set(document.labels or ())
        return torch.tensor([float(label in given) for label in labels])

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
        kind: LossChoice = PLAIN,
    ) -> SigmoidLoss:
        return SigmoidLoss(None if class_weights == "none" else balanced_positives(targets), kind)

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        if wishes.pos_weight == "none":
            return
        if wishes.class_weights != "none":
            raise ConfigurationError(
                "`training.class_weights` must be none where `training.pos_weight` says what a label weighs, but is "
                f"{wishes.class_weights} instead. Leave one of them out."
            )
        if labels is None or isinstance(wishes.pos_weight, str):
            return
        if strange := len(set(wishes.pos_weight) - set(labels)):
            raise ConfigurationError(
                f"`training.pos_weight` must name labels of the model, but {counted(strange, 'name')} of "
                f"{len(wishes.pos_weight)} {'is' if strange == 1 else 'are'} none of its {len(labels)}. Compare them "
                "with the labels of the documents."
            )

    def training_loss(
        self, wishes: LossWishes, readout: Readout, targets: Sequence[torch.Tensor], labels: Sequence[str]
    ) -> SigmoidLoss:
        self.check_loss(wishes, labels)
        given = wishes.pos_weight
        if not isinstance(given, str):
            return SigmoidLoss(torch.tensor([given.get(label, 1.0) for label in labels]), wishes.loss)
        balanced: ClassWeights = "balanced" if "balanced" in (given, wishes.class_weights) else "none"
        return self.loss(readout, targets, readout.classes, balanced, wishes.loss)

    def probabilities(self, logits: NDArray[Any], temperature: float = 1.0) -> Floats:
        """A sigmoid for each label."""
        scores = np.asarray(logits, dtype=np.float64) / temperature
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -700, 700))))

    def scores_of(self, probability: Floats, least: float) -> Floats:
        """Log-odds."""
        bounded = np.clip(probability, least, 1 - least)
        return np.asarray(np.log(bounded / (1 - bounded)))

    def given(self, scores: Floats, decisions: Decisions) -> NDArray[np.bool_]:
        return np.asarray(scores >= np.asarray(decisions.thresholds or _THRESHOLD))

    def within(self, scores: Floats, given: NDArray[np.bool_], sets: ConformalSets) -> NDArray[np.object_]:
        """A label for which both yes and no are plausible, or neither is, is undecided."""
        yes, no = plausible_labels(scores, sets), scores <= np.asarray(sets.limits)
        answer: NDArray[np.object_] = given.astype(np.object_)
        answer[~np.where(given, yes & ~no, no & ~yes)] = None
        return answer

    def predicted(self, scores: Floats, decisions: Decisions) -> NDArray[Any]:
        """bool (B, C)."""
        return self.given(scores, decisions)

    def table_of(self, gold: NDArray[Any], labels: int) -> NDArray[np.bool_]:
        return np.asarray(gold).astype(bool)

    def abstention(
        self, right: NDArray[np.bool_], scores: Floats, decisions: Decisions, sets: ConformalSets
    ) -> dict[str, float | None]:
        yes, no = plausible_labels(scores, sets), scores <= np.asarray(sets.limits)
        chosen = self.chosen(scores, decisions)
        answered, agreed = chosen != None, chosen == right  # noqa: E711 - elements are True, False or None
        return {
            "coverage": float(np.where(right, yes, no).mean()),
            "mean_set_size": float((yes.astype(int) + no).mean()),
            "answered": float(answered.mean()),
            "accuracy_answered": float(agreed[answered].mean()) if answered.any() else None,
        }

    def nonconformity(self, probability: Floats, gold: NDArray[Any]) -> Floats:
        """Each label has a limit of its own, for its yes and its no together, and the coverage is that of each label
        over documents; a rare label's few yeses may be covered less.
        """
        return np.where(gold.astype(bool), 1.0 - probability, probability)

    @property
    def chosen_by(self) -> str:
        """What no threshold changes: thresholds are fitted on the validation documents, and flatter there."""
        return "macro_average_precision"

    def fit_thresholds(self, probability: Floats, gold: NDArray[Any], wish: ThresholdWish) -> tuple[float, ...] | None:
        return _THRESHOLDS[wish](probability, gold) if wish in _THRESHOLDS else None

    def fit_temperature(self, logits: Floats, gold: NDArray[Any]) -> float:
        """As in `SingleLabel`, for the decisions about all labels together, which share the one temperature.

        So they are smoothed together, too: by themselves, labels with few documents would each ask for doubt, and
        forty of them for far too much.
        """
        right = gold.astype(bool)
        yes = int(right.sum())
        targets = np.where(right, (yes + 1) / (yes + 2), 1 / (right.size - yes + 2))
        if not logits.any():
            return 1.0
        wanted = float((targets * logits).sum())
        return temperature_where(
            lambda inverse: float((self.probabilities(logits, 1 / inverse) * logits).sum()) - wanted
        )

    def named(
        self, labels: Sequence[str], probability: Floats, chosen: NDArray[np.object_], best: int
    ) -> dict[str, Any]:
        return {"abstained": any(value is None for value in chosen)}

    def labels_given(self, prediction: DocumentPrediction, labels: Sequence[str]) -> NDArray[np.bool_]:
        given = {score.label for score in prediction.labels if score.chosen}
        return np.array([label in given for label in labels])

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        right = set(document.labels or ())
        named = ", ".join(label for label in labels if label in right) or "none"
        if not isinstance(result, DocumentPrediction):
            return Outcome(0.0, right=named, said=MISSING, wanted=len(right))
        chances = {each.label: each.score for each in result.labels}
        given = {label for label, yes in zip(labels, self.labels_given(result, labels), strict=True) if yes}
        wrong = [chances[x] if x in right else 1 - chances[x] for x in labels if (x in right) != (x in given)]
        both = len(right) + len(given)
        return Outcome(
            2 * len(right & given) / both if both else 1.0,
            max(map(surprise_of, wrong), default=0.0),
            named,
            ", ".join(chance_of(label, chances[label]) for label in labels if label in given) or "none",
            judged=tuple((chances[label], label in right) for label in labels),
            wanted=len(right),
        )


class SigmoidLoss:
    """The mean over labels of what each answer yes or no costs.

    Attributes:
        weights: (C,) of the positives or None.
        kind: binary cross entropy, or what else was chosen.
    """

    def __init__(self, weights: torch.Tensor | None, kind: LossChoice = PLAIN) -> None:
        self.weights, self.kind = weights, kind

    def __call__(self, scores: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
        """(B, C) scores and B targets -> (B,) losses, float32 or finer."""
        scores = exact(scores)
        weights = None if self.weights is None else self.weights.to(scores)
        return self.kind.each_label(scores, torch.stack(list(targets)).to(scores), weights).mean(dim=1)


def balanced_positives(targets: Sequence[torch.Tensor]) -> torch.Tensor:
    """(C,): the ratio of negatives to positives of each label; 1 for one that never occurs."""
    positive = torch.stack(list(targets)).sum(0)
    return torch.where(positive > 0, (len(targets) - positive) / positive.clamp(min=1), 1.0)

"""Tasks whose answer is one of the model's labels, or several: probabilities, sets that cannot be excluded, metrics.

Shape letters: B documents, C labels, K scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import ConformalSets, Decisions
from longdoc.errors import UsageError
from longdoc.metrics.calibration import Calibration
from longdoc.metrics.classification import classification_metrics
from longdoc.metrics.intervals import bootstrap_f1
from longdoc.nn.readout import Readout
from longdoc.tasks.base import ClassWeights, DocumentLoss
from longdoc.tasks.decision_settings import DecisionConfig, ThresholdWish
from longdoc.tasks.document_task import DocumentTask, Floats
from longdoc.tasks.fitting import conformal_limits
from longdoc.tasks.losses import PLAIN, LossChoice, LossWishes
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult, LabelScore

__all__ = ["LabelTask"]


class LabelTask(DocumentTask):
    """Scores of labels, one row a document.

    Attributes:
        several: whether a document has any number of labels, not exactly one.
    """

    several: ClassVar[bool]
    automatic = "macro_f1"

    # -- from scores to probabilities to labels

    @abstractmethod
    def probabilities(self, logits: NDArray[Any], temperature: float = 1.0) -> Floats:
        """Scores (..., K) -> probabilities of the labels (..., C), in float64."""

    @abstractmethod
    def scores_of(self, probability: Floats, least: float) -> Floats:
        """Probabilities of the labels (..., C), kept between `least` and 1 - it -> scores (..., K) that mean them."""

    @abstractmethod
    def given(self, scores: Floats, decisions: Decisions) -> NDArray[np.bool_]:
        """Probabilities (..., C) -> bool (..., C): the labels that are given, abstention aside."""

    @abstractmethod
    def within(self, scores: Floats, given: NDArray[np.bool_], sets: ConformalSets) -> NDArray[np.object_]:
        """As `chosen`, from the labels that would be given, where conformal sets say what can be excluded."""

    def chosen(self, scores: Floats, decisions: Decisions) -> NDArray[np.object_]:
        """Probabilities (..., C) -> True, False or None (..., C): given, refused, undecided.

        With conformal sets an answer is given only where it is the one thing that the set leaves.
        """
        given = self.given(scores, decisions)
        if decisions.conformal is None:
            return given.astype(np.object_)
        return self.within(scores, given, decisions.conformal)

    # -- learning

    @abstractmethod
    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
        kind: LossChoice = PLAIN,
    ) -> DocumentLoss:
        """As in `Task`, of a kind."""

    def training_loss(
        self, wishes: LossWishes, readout: Readout, targets: Sequence[torch.Tensor], labels: Sequence[str]
    ) -> DocumentLoss:
        self.check_loss(wishes, labels)
        return self.loss(readout, targets, readout.classes, wishes.class_weights, wishes.loss)

    # -- measuring

    def measure(
        self,
        gold: NDArray[Any],
        logits: Floats,
        labels: Sequence[str],
        decisions: Decisions | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """As in `DocumentTask`. All measures are of what the model answers: probabilities under its temperature, labels
        by its thresholds. Where it abstains they take the answer that it would have given; how abstention keeps its
        word stands under `abstention`.
        """
        decisions = decisions or Decisions()
        answered = np.isfinite(logits).all(axis=1)
        scores = np.full((len(logits), len(labels)), np.nan)
        scores[answered] = self.probabilities(logits[answered], decisions.temperature)
        measured = self.measure_probabilities(gold, scores, labels, decisions, **options)
        if not answered.any():
            return measured
        return measured | self.decision_measures(np.asarray(gold)[answered], logits[answered], decisions)

    def measure_probabilities(
        self,
        gold: NDArray[Any],
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The metrics from probabilities (B, C); NaN in a row = no answer."""
        values = np.asarray(scores, dtype=np.float64)
        predicted = self.predicted(values, decisions or Decisions())
        return {
            "task": self.name,
            **classification_metrics(gold, predicted, values, labels, self.several, **options),
        }

    @abstractmethod
    def predicted(self, scores: Floats, decisions: Decisions) -> NDArray[Any]:
        """What `classification_metrics` takes for the answers, from probabilities (B, C)."""

    @abstractmethod
    def table_of(self, gold: NDArray[Any], labels: int) -> NDArray[np.bool_]:
        """`gold` as bool (B, C)."""

    def decision_measures(self, gold: NDArray[Any], logits: Floats, decisions: Decisions) -> dict[str, Any]:
        """What decisions are worth: calibration with and without the temperature, and how abstention keeps its word.

        Args:
            gold: of the documents that have an answer.
            logits: (B, K), raw.

        Returns:
            `expected_calibration_error_unfitted`, that of the raw scores; `decisions`, in words; and with abstention
            `abstention`: `coverage_promised`; `coverage`, the share of right answers that are in the sets (several
            labels: mean over them); `mean_set_size` (several labels: of the answers yes and no); `answered`, the share
            of answers that are given; `accuracy_answered` among them, None if there are none.
        """
        raw = self.probabilities(logits)
        right = self.table_of(gold, raw.shape[1])
        answer = None if self.several else self.given(raw, decisions)
        measures: dict[str, Any] = {
            "expected_calibration_error_unfitted": float(
                Calibration(right, raw, answer).error(np.ones((1, len(right))))[0]
            ),
            "decisions": {
                "fitted_on_documents": decisions.documents,
                "temperature": decisions.temperature,
                "thresholds": _in_words(decisions.thresholds),
                "labels_without_support": len(decisions.labels_without_support),
            },
        }
        if decisions.conformal is not None:
            scores = self.probabilities(logits, decisions.temperature)
            measures["abstention"] = {
                "coverage_promised": decisions.conformal.coverage,
                **self.abstention(right, scores, decisions, decisions.conformal),
            }
        return measures

    @abstractmethod
    def abstention(
        self, right: NDArray[np.bool_], scores: Floats, decisions: Decisions, sets: ConformalSets
    ) -> dict[str, float | None]:
        """`coverage`, `mean_set_size`, `answered` and `accuracy_answered` from labels and probabilities (B, C)."""

    # -- deciding

    @abstractmethod
    def fit_temperature(self, logits: Floats, gold: NDArray[Any]) -> float:
        """The temperature with the least mean negative log-likelihood of the right labels."""

    @abstractmethod
    def nonconformity(self, probability: Floats, gold: NDArray[Any]) -> Floats:
        """1 - the probability of what is right: (B, 1), or (B, C) where each label has a limit of its own."""

    def fit_thresholds(self, probability: Floats, gold: NDArray[Any], wish: ThresholdWish) -> tuple[float, ...] | None:
        """The probability from which on each label is given; None where there are no thresholds."""
        return None

    def fit_conformal(self, probability: Floats, gold: NDArray[Any], coverage: float) -> ConformalSets:
        """The limits within which the right answers' nonconformity lies for a share `coverage` of documents.

        The promise is exact for documents that nothing else was chosen by; the temperature and the best epoch were
        chosen by the same ones, which costs coverage in the order of 1 / B.
        """
        nonconformity = self.nonconformity(probability, gold)
        limits = conformal_limits(nonconformity, coverage)
        return ConformalSets(coverage=coverage, limits=limits, documents=len(nonconformity))

    def fit_scores(
        self, logits: Floats, gold: NDArray[Any], labels: Sequence[str], settings: DecisionConfig | None = None
    ) -> Decisions:
        settings = settings or DecisionConfig()
        scores, right = np.asarray(logits, dtype=np.float64), np.asarray(gold)
        self.check_decisions(settings, len(scores))
        scored = self.classes(labels, self.default_readout())
        expected = (len(scores), len(labels)) if self.several else (len(scores),)
        if not len(scores) or scores.shape != (len(scores), scored) or right.shape != expected:
            raise UsageError(
                f"`logits` and `gold` must be (B, {scored}) and {'(B, C)' if self.several else '(B,)'} with "
                f"B >= 1, but are {scores.shape} and {right.shape} instead."
            )
        temperature = self.fit_temperature(scores, right) if settings.temperature else 1.0
        probability = self.probabilities(scores, temperature)
        counts = self.table_of(right, len(labels)).sum(axis=0)
        coverage = settings.coverage
        return Decisions(
            temperature=temperature,
            thresholds=self.fit_thresholds(probability, right, settings.thresholds),
            conformal=None if coverage is None else self.fit_conformal(probability, right, coverage),
            documents=len(scores),
            labels_without_support=tuple(label for label, count in zip(labels, counts, strict=True) if not count),
        )

    def limits(self, labels: int) -> int:
        """How many limits conformal sets have."""
        return labels if self.several else 1

    def check_fitted(self, decisions: Decisions, labels: Sequence[str]) -> None:
        conformal, many = decisions.conformal, len(labels)
        limits = None if conformal is None else conformal.limits
        for name, values, expected in (
            ("thresholds", decisions.thresholds, many),
            ("conformal.limits", limits, self.limits(many)),
        ):
            if values is not None and len(values) != expected:
                raise ValueError(f"`decisions.{name}` must have {expected} entries, but has {len(values)} instead.")

    # -- answering

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: `label`, `score`, `labels` (best first, ties in the order of `labels`), `abstained` and
        `logits` (as they came).
        """
        raw = np.asarray(scores, dtype=np.float64).reshape(-1)
        probability = self.probabilities(raw, decisions.temperature)
        chosen = self.chosen(probability, decisions)
        shown = chosen if self.several or decisions.conformal is not None else [None] * len(labels)
        order = self.order(probability)
        return {
            "logits": tuple(float(value) for value in raw),
            "labels": tuple(LabelScore(labels[i], float(probability[i]), shown[i]) for i in order),
            **self.named(labels, probability, chosen, int(order[0])),
        }

    def order(self, probability: Floats) -> NDArray[np.intp]:
        """(C,): numbers of the labels, best first."""
        return np.argsort(-probability, kind="stable")

    @abstractmethod
    def named(
        self, labels: Sequence[str], probability: Floats, chosen: NDArray[np.object_], best: int
    ) -> dict[str, Any]:
        """`label` and `score`, or that the model abstains."""

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """As the text-classification pipeline does: `{"label": ..., "score": ...}`; where the model abstains,
        `"abstained": True` stands beside them.
        """
        answers = []
        for prediction in predictions:
            abstained = {"abstained": True} if prediction.abstained else {}
            answers.append([{"label": i.label, "score": i.score} | abstained for i in prediction.labels[:top_k]])
        if top_k == 1:
            return [answer[0] for answer in answers]
        return answers[0] if single else answers

    # -- explaining and comparing

    def explained(self, prediction: DocumentPrediction, labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """The best label, or all that are given."""
        chosen = [item.label for item in prediction.labels if item.chosen]
        names = chosen or [prediction.labels[0].label]
        return tuple((name, labels.index(name)) for name in names)

    def compared(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> NDArray[Any]:
        """bool (B, C): the labels that are given, abstention aside."""
        table = np.zeros((len(documents), len(labels)), dtype=bool)
        for row, result in zip(table, results, strict=True):
            if isinstance(result, DocumentPrediction):
                row[:] = self.labels_given(result, labels)
        return table

    @abstractmethod
    def labels_given(self, prediction: DocumentPrediction, labels: Sequence[str]) -> NDArray[np.bool_]:
        """(C,): the labels of one answer, abstention aside."""

    def resampled(self, gold: NDArray[Any], compared: NDArray[Any], counts: Floats) -> Floats:
        right = self.table_of(gold, compared.shape[1])
        averaged = np.flatnonzero(right.any(axis=0))
        return bootstrap_f1(right, compared, averaged, counts)["macro_f1"]


def _in_words(thresholds: Sequence[float] | None) -> str:
    if thresholds is None:
        return "0.5"
    return "one a label" if len(set(thresholds)) > 1 or len(thresholds) == 1 else "one for all labels"

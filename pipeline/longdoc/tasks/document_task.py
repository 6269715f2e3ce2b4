"""Tasks that answer for a document as a whole: one row of scores a document, which the prediction carries.

Shape letters: B documents, C scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import UsageError
from longdoc.nn.readout import Readout
from longdoc.tasks.compared_task import ComparedTask, Floats
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["DocumentTask", "Floats"]


class DocumentTask(ComparedTask):
    """One row of scores a document: measured, fitted and compared from arrays."""

    def targets(self, documents: Sequence[Document], labels: Sequence[str]) -> list[torch.Tensor]:
        """One target a document.

        Raises:
            DataError: as `check_gold`.
        """
        self.check_gold(documents, labels, "evaluation")
        return [self.target(document, labels) for document in documents]

    def gold(self, documents: Sequence[Document], labels: Sequence[str]) -> NDArray[Any]:
        """The targets as one array, (B,) or (B, C)."""
        return np.stack([target.numpy() for target in self.targets(documents, labels)])

    # -- measuring

    @abstractmethod
    def measure(
        self,
        gold: NDArray[Any],
        logits: Floats,
        labels: Sequence[str],
        decisions: Decisions | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """The metrics of the task from arrays alone.

        Args:
            gold: as `gold` gives it.
            logits: (B, C), raw scores; NaN in a row = no answer.
            labels: those of the model.
            options: `resamples`, `seed`, `confidence`; with labels `average_over`.
        """

    def metrics(
        self,
        documents: Sequence[Document],
        results: Sequence[DocumentResult],
        labels: Sequence[str],
        decisions: Decisions,
        readout: Readout | None = None,
        resamples: int = 1000,
    ) -> dict[str, Any]:
        gold, logits = self.gold(documents, labels), logits_of(results)
        return self.measure(gold, logits, labels, decisions, resamples=resamples)

    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        logits = torch.from_numpy(logits_of(predictions))
        return float(self.loss(readout)(logits, self.targets(documents, labels)).mean())

    # -- deciding

    @abstractmethod
    def fit_scores(
        self, logits: Floats, gold: NDArray[Any], labels: Sequence[str], settings: DecisionConfig | None = None
    ) -> Decisions:
        """All decisions of a model from the raw scores of its validation documents, (B, C) and `gold`.

        Raises:
            ConfigurationError: `settings` ask for what cannot be fitted.
            UsageError: there is no document, or shapes do not fit.
        """

    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        return self.fit_scores(logits_of(predictions), self.gold(documents, labels), labels, settings)


def logits_of(results: Sequence[DocumentResult]) -> Floats:
    """The raw scores of documents, float64 (B, C); a row of NaN where there is no answer.

    Raises:
        UsageError: not one has an answer.
    """
    given = [
        np.asarray(result.logits, dtype=np.float64) for result in results if isinstance(result, DocumentPrediction)
    ]
    if not given:
        raise UsageError("`results` must hold at least 1 answer, but hold none.")
    rows = np.full((len(results), len(given[0])), np.nan)
    rows[[isinstance(result, DocumentPrediction) for result in results]] = given
    return rows

"""A number: the one score is the answer, squared error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError
from longdoc.metrics.intervals import bootstrap_means
from longdoc.metrics.regression import regression_metrics
from longdoc.nn.exact import exact
from longdoc.nn.readout import Readout, ReadoutKind
from longdoc.tasks.base import ClassWeights, DocumentLoss
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.document_task import DocumentTask, Floats
from longdoc.tasks.gold import Purpose, which
from longdoc.tasks.losses import LossWishes
from longdoc.tasks.outcomes import MISSING, Outcome
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["FARTHEST_FROM_0", "LARGEST_TARGET", "Regression"]

LARGEST_TARGET = 1e18
"""Its square is still a float32."""
FARTHEST_FROM_0 = 100.0
"""Where a mean or deviation of targets is beyond, training says so: a head that starts at 0 hardly gets there."""
_ROUNDING = 1e-6  # of float32, in which models compute


class Regression(DocumentTask):
    """One number a document, in the unit of the training data."""

    name = "regression"
    field = "target"
    problem_type = "regression"
    metric_names = ("loss", "rmse", "mae", "r2")
    automatic = "rmse"
    lower_is_better = frozenset({"loss", "rmse", "mae"})
    table = ("rmse", "mae", "r2")
    outcome_name = "absolute error"

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        return ("value",)

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return ()

    def check_labels(self, named: Sequence[str]) -> None:
        if len(named) != 1:
            raise ConfigurationError(
                f"`model.labels` must be null or name 1 number for a regression, but names {len(named)} instead. For "
                "classes set `model.task`."
            )

    def check_values(self, documents: Sequence[Document], purpose: Purpose) -> None:
        beyond = [n for n, document in enumerate(documents) if abs(document.target or 0.0) > LARGEST_TARGET]
        if beyond:
            raise DataError(
                f"`target` must be between -{LARGEST_TARGET:g} and {LARGEST_TARGET:g} in every {purpose} document, but "
                f"is beyond in {len(beyond)} of {len(documents)} ({which(beyond, documents)}). Divide all by a "
                "constant."
            )

    def check_validation(self, documents: Sequence[Document], metric: str) -> None:
        if metric == "r2" and len({document.target for document in documents}) == 1:
            raise DataError(
                "`training.metric_for_best_model: r2` needs validation documents with different targets, but all have "
                "the same. Choose rmse or mae."
            )

    def check_readout(self, readout: ReadoutKind) -> None:
        super().check_readout(readout)
        merger = getattr(readout, "merger", None)
        if getattr(merger, "labels_only", False):
            raise ValueError(
                f"`readout.merger` {getattr(merger, 'kind', '')} merges probabilities of labels, but a regression has "
                "none. Choose mean, max or logsumexp."
            )

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """float32 (): the number."""
        return torch.tensor(document.target)

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        return squared_error

    def check_batches(self, batches: Sequence[Sequence[torch.Tensor]]) -> Sequence[str]:
        targets = torch.stack([target for batch in batches for target in batch]).double()
        center, spread = float(targets.mean()), float(targets.std(correction=0))
        if max(abs(center), spread) <= FARTHEST_FROM_0:
            return ()
        return (
            f"targets have a mean of {center:.3g} and a deviation of {spread:.3g}, but a new head starts at 0 and "
            "learns in small steps: it may never get there. Give it (target - mean) / deviation instead, and turn its "
            "answers back.",
        )

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        super().check_loss(wishes, labels)
        if wishes.class_weights != "none":
            raise ConfigurationError(
                "`training.class_weights` must be none for a regression, which has no classes, but is "
                f"{wishes.class_weights} instead."
            )

    def measure(
        self,
        gold: NDArray[Any],
        logits: Floats,
        labels: Sequence[str],
        decisions: Decisions | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        return {"task": self.name, **regression_metrics(gold, np.asarray(logits).reshape(-1), **options)}

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        right = document.target or 0.0
        if not isinstance(result, DocumentPrediction) or result.value is None:
            return Outcome(float("nan"), right=f"{right:g}", said=MISSING)
        error = abs(result.value - right)
        surprise = 0.0 if math.isclose(result.value, right, rel_tol=_ROUNDING) else error
        return Outcome(error, surprise, f"{right:g}", f"{result.value:g}", distance=error)

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        if settings.coverage is not None:
            raise ConfigurationError(
                "`training.decisions.coverage` must be null for a regression, which has no labels to abstain from, but "
                f"is {settings.coverage} instead."
            )

    def fit_scores(
        self, logits: Floats, gold: NDArray[Any], labels: Sequence[str], settings: DecisionConfig | None = None
    ) -> Decisions:
        """A number has nothing to decide."""
        self.check_decisions(settings or DecisionConfig(), len(logits))
        return Decisions()

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: `value`, and the same as `logits`."""
        raw = np.asarray(scores, dtype=np.float64).reshape(-1)
        return {"logits": tuple(float(value) for value in raw), "value": float(raw[0])}

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """As the text-classification pipeline does: `{"label": name of the number, "score": the number}`."""
        answers = [{"label": labels[0], "score": prediction.value} for prediction in predictions]
        return answers if top_k == 1 or single else [[answer] for answer in answers]

    def explained(self, prediction: DocumentPrediction, labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
        return ((labels[0], 0),)

    def compared(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> NDArray[Any]:
        """float64 (B,): squared errors, NaN where there is no answer."""
        return np.array(
            [
                (result.value - (document.target or 0.0)) ** 2
                if isinstance(result, DocumentPrediction) and result.value is not None
                else np.nan
                for document, result in zip(documents, results, strict=True)
            ]
        )

    def resampled(self, gold: NDArray[Any], compared: NDArray[Any], counts: Floats) -> Floats:
        return np.asarray(-np.sqrt(bootstrap_means({"mse": compared}, counts)["mse"]))


def squared_error(scores: torch.Tensor, targets: Sequence[torch.Tensor]) -> torch.Tensor:
    """(B, 1) scores and B targets -> (B,) losses, float32 or finer."""
    return (exact(scores)[:, 0] - torch.stack(list(targets)).to(scores.device)).square()

"""Tasks in which a document has exactly one right label, whatever the scores are.

Shape letters: B documents, C labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import ConformalSets, Decisions, plausible_labels
from longdoc.errors import ConfigurationError, DataError
from longdoc.nn.readout import Readout
from longdoc.tasks.document_task import Floats
from longdoc.tasks.label_task import LabelTask
from longdoc.tasks.outcomes import MISSING, Outcome, chance_of, surprise_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["OneLabelTask", "balanced_weights"]


class OneLabelTask(LabelTask):
    """One right label a document."""

    field = "label"
    several = False
    outcome_name = "accuracy"

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        labels = {document.label for document in documents if document.label is not None}
        if len(labels) < 2:
            raise DataError(
                f"`model.task: {self.name}` needs at least 2 different labels, but the data have {len(labels)}."
            )
        return tuple(sorted(labels))

    def check_labels(self, named: Sequence[str]) -> None:
        if len(named) < 2:
            raise ConfigurationError(
                f"`model.labels` must name at least 2 labels for the task {self.name}, but names {len(named)}. With "
                "`model.task: multi_label` a document may have it or not."
            )

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return () if document.label is None else (document.label,)

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """int64 (): the number of the label."""
        return torch.tensor(tuple(labels).index(document.label or ""))

    def table_of(self, gold: NDArray[Any], labels: int) -> NDArray[np.bool_]:
        return np.asarray(np.asarray(gold)[:, None] == np.arange(labels))

    @abstractmethod
    def best(self, scores: Floats) -> NDArray[np.intp]:
        """Probabilities (..., C) -> the number of the label that is given (...), abstention aside."""

    def given(self, scores: Floats, decisions: Decisions) -> NDArray[np.bool_]:
        return np.asarray(np.arange(scores.shape[-1]) == self.best(scores)[..., None])

    def within(self, scores: Floats, given: NDArray[np.bool_], sets: ConformalSets) -> NDArray[np.object_]:
        """A label outside the set is refused; the one that is given holds where it is alone in the set. Else nobody
        knows which of the set it is.
        """
        yes = plausible_labels(scores, sets)
        alone = given & yes & (yes.sum(axis=-1, keepdims=True) == 1)
        answer: NDArray[np.object_] = alone.astype(np.object_)
        answer[yes & ~alone] = None
        return answer

    def predicted(self, scores: Floats, decisions: Decisions) -> NDArray[Any]:
        """(B,), -1 where a row is not finite."""
        return np.where(np.isfinite(scores).all(axis=1), self.best(np.nan_to_num(scores)), -1)

    def abstention(
        self, right: NDArray[np.bool_], scores: Floats, decisions: Decisions, sets: ConformalSets
    ) -> dict[str, float | None]:
        yes = plausible_labels(scores, sets)
        given = self.chosen(scores, decisions) == True  # noqa: E712 - elements are True, False or None
        answered, agreed = given.any(axis=1), (given & right).any(axis=1)
        return {
            "coverage": float(yes[right].mean()),
            "mean_set_size": float(yes.sum(axis=1).mean()),
            "answered": float(answered.mean()),
            "accuracy_answered": float(agreed[answered].mean()) if answered.any() else None,
        }

    def nonconformity(self, probability: Floats, gold: NDArray[Any]) -> Floats:
        return np.asarray(1.0 - np.take_along_axis(probability, gold[:, None].astype(np.intp), axis=1))

    def named(
        self, labels: Sequence[str], probability: Floats, chosen: NDArray[np.object_], best: int
    ) -> dict[str, Any]:
        """`label` and `score` are absent where the answer is undecided."""
        if not any(chosen):
            return {"abstained": True}
        return {"label": labels[best], "score": float(probability[best])}

    def labels_given(self, prediction: DocumentPrediction, labels: Sequence[str]) -> NDArray[np.bool_]:
        given: NDArray[np.bool_] = np.zeros(len(labels), dtype=bool)
        given[labels.index(prediction.labels[0].label)] = True
        return given

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        """Abstention aside: the answer that is given or would be."""
        right = document.label or ""
        if not isinstance(result, DocumentPrediction):
            return Outcome(0.0, right=right, said=MISSING, wanted=1)
        chances = {each.label: each.score for each in result.labels}
        best = labels[int(self.labels_given(result, labels).argmax())]
        agrees = best == right
        return Outcome(
            float(agrees),
            0.0 if agrees else surprise_of(chances[right]),
            chance_of(right, chances[right]),
            chance_of(best, chances[best]) + (", held back" if result.abstained else ""),
            judged=((chances[best], agrees),),
            wanted=1,
        )


def balanced_weights(targets: Sequence[torch.Tensor], labels: int) -> torch.Tensor:
    """(C,): the weight of each label, by its inverse frequency; one that never occurs weighs 1.

    Args:
        targets: numbers of labels.
        labels: C.
    """
    counts = torch.bincount(torch.stack(list(targets)), minlength=labels).float()
    return torch.where(counts > 0, len(targets) / (labels * counts.clamp(min=1)), 1.0)

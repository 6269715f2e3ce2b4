"""Vectors of documents that shall be near where labels are the same: learned from which documents are alike.

The vector is that of `longdoc embed`: states of all tokens pooled, each token once. A document learns from the others
of its batch, on its own process; a label is not learned by itself, so new ones may come later.

Shape letters: B documents, D width of a vector.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import ConfigurationError, DataError, UsageError, counted
from longdoc.metrics.neighbours import find_neighbours, group_numbers, neighbour_metrics
from longdoc.nn.readout import EmbeddingReadout, EmbeddingReadoutConfig, Readout, ReadoutKind
from longdoc.tasks.base import ClassWeights, DocumentLoss, Task
from longdoc.tasks.contrastive import ContrastiveLoss, mean_contrastive_loss
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.gold import Purpose
from longdoc.tasks.losses import LossWishes
from longdoc.tasks.outcomes import MISSING, Outcome, chance_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["Embedding"]

Floats = NDArray[np.float64]


class Embedding(Task):
    """A vector for each document; those of one label are to be near each other."""

    name = "embedding"
    field = "label"
    pipeline_tag = "feature-extraction"
    learns_in_twos = True
    metric_names = ("loss", "precision_at_1", "mean_reciprocal_rank", "recall_at_10", "mean_average_precision")
    automatic = "mean_average_precision"
    table = ("precision_at_1", "mean_reciprocal_rank", "mean_average_precision")
    outcome_name = "average precision of the others of its label"
    own_labels = ("vector",)

    # -- labels: which documents are alike, and nothing else

    def collect_labels(self, documents: Sequence[Document]) -> tuple[str, ...]:
        return self.own_labels

    def gold_labels(self, document: Document) -> tuple[str, ...]:
        return ()

    def check_labels(self, named: Sequence[str]) -> None:
        if tuple(named) != self.own_labels:
            raise ConfigurationError(
                "`model.labels` must be null for the task embedding, whose labels only say which documents are alike, "
                "but names some. Leave it out."
            )

    def check_values(self, documents: Sequence[Document], purpose: Purpose) -> None:
        if documents and len({document.label for document in documents}) == len(documents):
            raise DataError(
                f"the task embedding needs at least 2 {purpose} documents of one label, but each of {len(documents)} "
                "has a label that no other has. Give the same label to documents that are alike."
            )

    def check_batches(self, batches: Sequence[Sequence[torch.Tensor]]) -> Sequence[str]:
        total = Counter(int(target) for batch in batches for target in batch)
        beside = [Counter(int(target) for target in batch) for batch in batches]
        unpaired = [group for counts in beside for group, count in counts.items() if count == 1]
        if len(unpaired) == total.total():
            raise ConfigurationError(
                "`training.per_device_train_batch_size` must be so large that documents of one label meet in a batch, "
                f"but of {len(batches)} in the first epoch not one holds two. Raise it, to an even number."
            )
        alone = sum(total[group] == 1 for group in unpaired)
        remarks = []
        if alone:
            remarks.append(
                f"{counted(alone, 'training document')} of {total.total()} "
                f"{'has' if alone == 1 else 'have'} a label that no other has here: only others are told apart from "
                f"{'it' if alone == 1 else 'them'}."
            )
        if missed := len(unpaired) - alone:
            remarks.append(
                f"{counted(missed, 'training document')} of {total.total()} "
                f"{'has' if missed == 1 else 'have'} no other of the same label in the batch, in the first epoch, and "
                f"{'is' if missed == 1 else 'are'} not brought nearer to any. A larger "
                "`training.per_device_train_batch_size`, an even one, leaves fewer."
            )
        return remarks

    # -- the readout

    def default_readout(self) -> ReadoutKind:
        return EmbeddingReadoutConfig()

    def check_readout(self, readout: ReadoutKind) -> None:
        if not isinstance(readout, EmbeddingReadoutConfig):
            raise ValueError(
                f"`readout` must be of the kind embedding for the task embedding, but is {readout.kind} instead"
            )

    # -- learning

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """int64 (): a digest of the label, the same in every process and every run."""
        digest = hashlib.sha256((document.label or "").encode("utf-8", "surrogatepass")).digest()
        return torch.tensor(int.from_bytes(digest[:8], "big", signed=True))

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        return ContrastiveLoss(_temperature(readout))

    def check_loss(self, wishes: LossWishes, labels: Sequence[str] | None = None) -> None:
        super().check_loss(wishes, labels)
        if wishes.class_weights != "none":
            raise ConfigurationError(
                "`training.class_weights` must be none for the task embedding, which has no classes, but is "
                f"{wishes.class_weights} instead."
            )

    # -- answering

    def check_answering(self) -> None:
        raise UsageError(
            "a model of the task embedding makes vectors, and has nothing to say of a document by itself. Use "
            "`longdoc embed` or `Pipeline.embed`; how good the vectors are says `longdoc evaluate`."
        )

    def answer(
        self,
        scores: NDArray[Any],
        labels: Sequence[str],
        decisions: Decisions,
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> dict[str, Any]:
        """As in `Task`: the vector as `logits`, to be measured beside those of other documents."""
        return {"logits": tuple(np.asarray(scores, dtype=np.float64)[0].tolist())}

    def show(
        self,
        predictions: Sequence[DocumentPrediction],
        single: bool,
        top_k: int | None,
        labels: Sequence[str],
        texts: Sequence[str] = (),
    ) -> Any:
        """There is nothing to show: see `check_answering`."""
        self.check_answering()

    # -- measuring

    def metrics(
        self,
        documents: Sequence[Document],
        results: Sequence[DocumentResult],
        labels: Sequence[str],
        decisions: Decisions,
        readout: Readout | None = None,
        resamples: int = 1000,
    ) -> dict[str, Any]:
        gold = [document.label or "" for document in documents]
        return {"task": self.name, **neighbour_metrics(_vectors(results), gold, resamples=resamples)}

    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        """All documents as one batch: with more of them than a batch of training has, the loss is higher."""
        vectors = torch.from_numpy(_vectors(predictions))
        groups = torch.stack([self.target(document, labels) for document in documents])
        return mean_contrastive_loss(vectors, groups, _temperature(readout))

    def outcome(self, document: Document, result: DocumentResult, labels: Sequence[str]) -> Outcome:
        return self.outcomes([document], [result], labels)[0]

    def outcomes(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> list[Outcome]:
        """Each document among all others: what is said of it is the label of the nearest one."""
        gold = [document.label or "" for document in documents]
        found = find_neighbours(_vectors(results), group_numbers(gold)[1])
        outcomes = []
        for number, label in enumerate(gold):
            nearest, cosine = int(found.nearest[number]), float(found.cosine[number])
            score = float(found.average_precision[number])
            if nearest < 0:
                outcomes.append(Outcome(score, right=label, said=MISSING))
                continue
            is_wrong = found.precision_at_1[number] == 0
            surprise = max(0.0, cosine) if is_wrong else 0.0
            outcomes.append(Outcome(score, surprise, label, chance_of(gold[nearest], cosine)))
        return outcomes

    # -- deciding

    def check_decisions(self, settings: DecisionConfig, documents: int) -> None:
        if settings.coverage is not None:
            raise ConfigurationError(
                "`training.decisions.coverage` must be null for the task embedding, which has no labels to abstain "
                f"from, but is {settings.coverage} instead."
            )

    def fit(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        settings: DecisionConfig,
        readout: Readout | None = None,
    ) -> Decisions:
        """A vector has nothing to decide."""
        return Decisions()


def _temperature(readout: Readout | None) -> float:
    return readout.temperature if isinstance(readout, EmbeddingReadout) else EmbeddingReadoutConfig().temperature


def _vectors(results: Sequence[DocumentResult]) -> Floats:
    """float64 (B, D); a row of NaN where a document has none."""
    given = [result.logits if isinstance(result, DocumentPrediction) else () for result in results]
    width = max(map(len, given), default=0)
    return np.array([row or (np.nan,) * width for row in given], dtype=np.float64).reshape(len(given), width)

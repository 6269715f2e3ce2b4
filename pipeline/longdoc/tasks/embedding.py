"""Vectors of documents that shall be near where labels are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from longdoc.decide import Decisions
from longdoc.errors import DataError
from longdoc.metrics.neighbours import Neighbours, find_neighbours, group_numbers, neighbour_metrics
from longdoc.nn.readout import Readout
from longdoc.tasks.base import ClassWeights, DocumentLoss
from longdoc.tasks.contrastive import ContrastiveLoss, mean_contrastive_loss
from longdoc.tasks.gold import Purpose
from longdoc.tasks.vectors import Floats, VectorTask, digest_of, temperature_of, vectors_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["Embedding"]


class Embedding(VectorTask):
    """A vector for each document; those of one label are to be near each other."""

    name = "embedding"
    field = "label"
    automatic = "mean_average_precision"
    outcome_name = "average precision of the others of its label"

    def check_values(self, documents: Sequence[Document], purpose: Purpose) -> None:
        different = len({document.label for document in documents})
        if len(documents) > 1 and different == 1:
            raise DataError(
                f"the task embedding needs {purpose} documents of at least 2 labels, but all {len(documents)} have the "
                "same. Add documents that are not alike."
            )
        if documents and different == len(documents):
            raise DataError(
                f"the task embedding needs at least 2 {purpose} documents of one label, but each of {len(documents)} "
                "has a label that no other has. Give the same label to documents that are alike."
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
        return torch.tensor(digest_of(document.label or ""))

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        return ContrastiveLoss(temperature_of(readout))

    # -- measuring

    def neighbours(self, documents: Sequence[Document], vectors: Floats) -> tuple[list[str], Neighbours]:
        """Labels, and the nearest of all others."""
        gold = [document.label or "" for document in documents]
        return gold, find_neighbours(vectors, group_numbers(gold)[1])

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
        return {"task": self.name, **neighbour_metrics(vectors_of(results), gold, resamples=resamples)}

    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        """All documents as one batch: with more of them than a batch of training has, the loss is higher."""
        vectors = torch.from_numpy(vectors_of(predictions))
        groups = torch.stack([self.target(document, labels) for document in documents])
        return mean_contrastive_loss(vectors, groups, temperature_of(readout))

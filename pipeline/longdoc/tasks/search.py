"""Vectors for search: those of a question and of the text that answers it are to be near each other.

A record is a question and a text of any length. They are learned as two documents, each from those of the other side in
its batch; where several records have one text, it answers all of their questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.decide import Decisions
from longdoc.errors import DataError
from longdoc.metrics.neighbours import Neighbours, find_neighbours, group_numbers, neighbour_metrics
from longdoc.nn.readout import Readout
from longdoc.tasks.base import ClassWeights, DocumentLoss
from longdoc.tasks.contrastive import PairLoss, mean_contrastive_loss
from longdoc.tasks.gold import Purpose, refuse_missing
from longdoc.tasks.vectors import Floats, VectorTask, digest_of, temperature_of, vectors_of
from longdoc.text.tokens_read import TokensRead
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["Search"]

_RECORD = "record of a question and its text"
"""Where a document that `unfold` made says in its `meta` of which record it is a side."""


class Search(VectorTask):
    """A vector for each question and each text; a question finds its text."""

    name = "search"
    field = "question"
    automatic = "mean_reciprocal_rank"
    outcome_name = "average precision of the text that answers"

    def check_gold(
        self, documents: Sequence[Document], labels: Sequence[str] | None, purpose: Purpose = "training"
    ) -> None:
        missing = [n for n, d in enumerate(documents) if not (d.question or "").strip() and _RECORD not in d.meta]
        refuse_missing(missing, documents, self.name, self.field, purpose)
        texts = {document.text for document in documents if document.question is None or _RECORD not in document.meta}
        if len(texts) == 1:
            raise DataError(
                f"the task search needs at least 2 different texts in the {purpose} documents, but has 1. Add texts "
                "that do not answer."
            )

    def unfold(self, documents: Sequence[Document], purpose: Purpose) -> Sequence[Document]:
        """A document for each question and, to learn from, one for its text; to measure by one for each text."""
        return list(self._sides(documents, purpose))

    def _sides(self, documents: Sequence[Document], purpose: Purpose) -> Iterator[Document]:
        first: dict[str, str] = {}
        for document in documents:
            if _RECORD in document.meta:
                yield document
                continue
            known = document.text in first
            text = replace(
                document,
                label=first.setdefault(document.text, document.id),
                question=None,
                answers=None,
                spans=None,
                meta={_RECORD: document.id},
            )
            yield replace(
                text, id=f"{document.id} (question)", text=document.question or "", question=document.question
            )
            if purpose == "training" or not known:
                yield text

    # -- learning

    def target(
        self,
        document: Document,
        labels: Sequence[str],
        tokens: TokensRead | None = None,
        readout: Readout | None = None,
    ) -> torch.Tensor:
        """int64 (3,): digests of the record and of what its text is known by, and whether it asks."""
        record = str(document.meta.get(_RECORD, document.id))
        return torch.tensor(
            [digest_of(record), digest_of(document.label or document.id), document.question is not None]
        )

    def loss(
        self,
        readout: Readout | None = None,
        targets: Sequence[torch.Tensor] = (),
        classes: int = 1,
        class_weights: ClassWeights = "none",
    ) -> DocumentLoss:
        return PairLoss(temperature_of(readout))

    # -- measuring

    def neighbours(self, documents: Sequence[Document], vectors: Floats) -> tuple[list[str], Neighbours]:
        """The ids by which texts are known, and the nearest texts of each question."""
        gold = [document.label or document.id for document in documents]
        return gold, find_neighbours(vectors, group_numbers(gold)[1], _asking(documents))

    def metrics(
        self,
        documents: Sequence[Document],
        results: Sequence[DocumentResult],
        labels: Sequence[str],
        decisions: Decisions,
        readout: Readout | None = None,
        resamples: int = 1000,
    ) -> dict[str, Any]:
        gold = [document.label or document.id for document in documents]
        measured = neighbour_metrics(vectors_of(results), gold, _asking(documents), resamples=resamples)
        return {"task": self.name, "questions": int(_asking(documents).sum()), **measured}

    def mean_loss(
        self,
        documents: Sequence[Document],
        predictions: Sequence[DocumentPrediction],
        labels: Sequence[str],
        readout: Readout | None = None,
    ) -> float:
        """All questions and texts as one batch: with more of them than a batch of training has, the loss is higher."""
        vectors = torch.from_numpy(vectors_of(predictions))
        _, groups, sides = torch.stack([self.target(document, labels) for document in documents]).unbind(1)
        return mean_contrastive_loss(vectors, groups, temperature_of(readout), sides.bool())


def _asking(documents: Sequence[Document]) -> NDArray[np.bool_]:
    return np.array([document.question is not None for document in documents], dtype=np.bool_)

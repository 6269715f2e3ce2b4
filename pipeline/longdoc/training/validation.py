"""Answers for the validation documents, each document whole and once, whatever the number of processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.training.frozen_rows import FrozenRows
from longdoc.training.processes import gathered
from longdoc.types import Document, DocumentResult

__all__ = ["Validator"]


@dataclass(frozen=True, repr=False)
class Validator:
    """Answers labelled documents while a model learns.

    Attributes:
        pipeline: with the model.
        accelerator: of the run.
        documents: labelled.
        rows: of a frozen encoder, or None.
    """

    pipeline: Pipeline
    accelerator: Any
    documents: Sequence[Document]
    rows: FrozenRows | None

    def answers(self) -> list[DocumentResult]:
        """In the order of the documents: shared out by number, gathered, and each put in its place by number."""
        pipeline, documents, accelerator = self.pipeline, self.documents, self.accelerator
        pipeline.model.eval()
        numbers = list(range(accelerator.process_index, len(documents), accelerator.num_processes))
        if self.rows is not None:
            kept = [(self.rows.validation[n], documents[n]) for n in numbers]
            results = [pipeline.answer(item, d) if isinstance(item, DocumentRows) else item for item, d in kept]
        else:
            results = list(pipeline.stream_measured([documents[n] for n in numbers]))
        parts = gathered(accelerator, list(zip(numbers, results, strict=True)))
        by_number = dict(pair for part in parts for pair in part)
        return [by_number[n] for n in range(len(documents))]

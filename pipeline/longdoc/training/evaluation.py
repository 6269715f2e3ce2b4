"""Metrics of a pipeline on labelled documents, through the same path as every prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from longdoc.decide import probabilities
from longdoc.errors import DataError
from longdoc.pipeline import Pipeline
from longdoc.training.data import encode_targets
from longdoc.training.metrics import document_metrics
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["evaluate_documents", "metrics_of"]


def evaluate_documents(
    pipeline: Pipeline, documents: Sequence[Document], progress: Callable[[int, int], None] | None = None
) -> tuple[list[DocumentResult], dict[str, Any]]:
    """Predict labelled documents and measure.

    Returns:
        The results in input order, and the metrics: `documents`, `unanswered`, and what the task has.

    Raises:
        DataError: labels that the model does not know, or not one document with an answer.
    """
    encode_targets(documents, pipeline.labels, pipeline.settings.task)  # refuse unknown labels before the long part
    results: list[DocumentResult] = []
    for result in pipeline.stream(documents):
        results.append(result)
        if progress is not None:
            progress(len(results), len(documents))
    return results, metrics_of(pipeline, documents, results)


def metrics_of(pipeline: Pipeline, documents: Sequence[Document], results: Sequence[DocumentResult]) -> dict[str, Any]:
    """Metrics from results that are there already, in the order of the documents."""
    task, labels = pipeline.settings.task, pipeline.labels
    answered = [n for n, result in enumerate(results) if isinstance(result, DocumentPrediction)]
    if not answered:
        raise DataError(f"metrics need at least 1 answered document, but none of {len(documents)} has an answer.")
    targets = encode_targets([documents[n] for n in answered], labels, task)
    logits = np.asarray([r.logits for r in results if isinstance(r, DocumentPrediction)], dtype=np.float64)
    gold = np.stack([target.numpy() for target in targets])
    found = document_metrics(gold, probabilities(logits, task), labels, task)
    read = sum(r.tokens_read for r in results if isinstance(r, DocumentPrediction))
    total = sum(r.n_tokens for r in results if isinstance(r, DocumentPrediction))
    return found | {
        "task": task,
        "documents": len(answered),
        "unanswered": len(documents) - len(answered),
        "tokens": total,
        "tokens_read": read,
    }

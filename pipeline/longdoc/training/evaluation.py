"""Metrics of a pipeline on labelled documents, through the same path as every prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from longdoc.errors import DataError
from longdoc.pipeline import Pipeline
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["evaluate_documents", "metrics_of"]


def evaluate_documents(
    pipeline: Pipeline, documents: Sequence[Document], progress: Callable[[int, int], None] | None = None
) -> tuple[list[DocumentResult], dict[str, Any]]:
    """Predict labelled documents and measure.

    Returns:
        The results in input order (for a task that makes several documents of a record, that of `Task.unfold`), and the
        metrics: `documents`, `unanswered`, and what the task has.

    Raises:
        DataError: labels that the model does not know, or not one document with an answer.
    """
    pipeline.task.check_gold(documents, pipeline.labels, "evaluation")  # refuse unknown labels before the long part
    documents = pipeline.task.unfold(documents, "evaluation")
    results: list[DocumentResult] = []
    for result in pipeline.stream_measured(documents):
        results.append(result)
        if progress is not None:
            progress(len(results), len(documents))
    return results, metrics_of(pipeline, documents, results)


def metrics_of(
    pipeline: Pipeline, documents: Sequence[Document], results: Sequence[DocumentResult], resamples: int = 1000
) -> dict[str, Any]:
    """Metrics from results that are there already, in the order of the documents; 0 `resamples` = no intervals.

    A document without an answer counts as wrong where answers are compared; `loss` and other measures of scores leave
    it out. `loss` is that of the raw scores; all other measures are of what the pipeline answers.
    """
    task, labels, readout = pipeline.task, pipeline.labels, pipeline.model.readout
    task.check_gold(documents, labels, "evaluation")
    answered = [(d, r) for d, r in zip(documents, results, strict=True) if isinstance(r, DocumentPrediction)]
    if not answered:
        raise DataError(f"metrics need at least 1 answered document, but none of {len(documents)} has an answer.")
    answers = [answer for _, answer in answered]
    loss = task.mean_loss([document for document, _ in answered], answers, labels, readout)
    return task.metrics(documents, results, labels, pipeline.settings.decisions, readout, resamples) | {
        "loss": loss,
        "tokens": sum(answer.n_tokens for answer in answers),
        "tokens_read": sum(answer.tokens_read for answer in answers),
    }

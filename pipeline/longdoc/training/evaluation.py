"""Metrics of a pipeline on labelled documents, through the same path as every prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from longdoc.decide import probabilities
from longdoc.errors import DataError
from longdoc.pipeline import Pipeline
from longdoc.training.decision_metrics import decision_metrics
from longdoc.training.gold import encode_targets
from longdoc.training.loss import DocumentLoss
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


def metrics_of(
    pipeline: Pipeline, documents: Sequence[Document], results: Sequence[DocumentResult], resamples: int = 1000
) -> dict[str, Any]:
    """Metrics from results that are there already, in the order of the documents; 0 `resamples` = no intervals.

    A document without an answer counts as wrong where labels are compared; `loss` and other measures of scores leave
    it out. `loss` is that of the raw scores; all other measures are of what the pipeline answers: probabilities under
    its temperature, labels by its thresholds. Where it abstains they take the answer that it would have given; how
    abstention keeps its word stands under `abstention`.
    """
    task, labels, decisions = pipeline.settings.task, pipeline.labels, pipeline.settings.decisions
    gold = np.stack([target.numpy() for target in encode_targets(documents, labels, task)])
    answers = [result for result in results if isinstance(result, DocumentPrediction)]
    if not answers:
        raise DataError(f"metrics need at least 1 answered document, but none of {len(documents)} has an answer.")
    logits = np.full((len(documents), len(labels)), np.nan)
    answered = [number for number, result in enumerate(results) if isinstance(result, DocumentPrediction)]
    logits[answered] = [answer.logits for answer in answers]
    losses = DocumentLoss(task)(torch.from_numpy(logits[answered]), list(torch.from_numpy(gold[answered])))
    scores = np.full_like(logits, np.nan)
    scores[answered] = probabilities(logits[answered], task, decisions.temperature)
    measured = document_metrics(
        gold, scores, labels, task, threshold=decisions.thresholds or 0.5, resamples=resamples
    ) | decision_metrics(gold[answered], logits[answered], task, decisions)
    return measured | {
        "loss": float(losses.mean()),
        "tokens": sum(answer.n_tokens for answer in answers),
        "tokens_read": sum(answer.tokens_read for answer in answers),
    }

"""A model and a linear classifier over words, added up: what each counts is fitted on validation documents.

Shape letters: B documents, K scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch

from longdoc.linear import LinearClassifier, LinearSettings
from longdoc.pipeline import Pipeline
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.document_task import Floats
from longdoc.tasks.label_task import LabelTask
from longdoc.training.decisions import fit_on_validation
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["add_words", "mixing_weights"]

_COARSE = np.concatenate([[0.0], 2.0 ** np.arange(-6, 6)])
_FINER = (0.5, 0.25, 0.125)  # steps of the exponents


def add_words(
    pipeline: Pipeline,
    linear: LinearClassifier,
    train_documents: int,
    validation: Sequence[Document],
    results: Sequence[DocumentResult],
    decisions: DecisionConfig,
) -> list[DocumentResult]:
    """Let a model add the scores of a classifier over words, and decide on what comes out.

    Args:
        pipeline: of a task with labels; changed.
        linear: has learned from training documents only.
        train_documents: from how many.
        validation: labelled, and nothing else is fitted on.
        results: the answers of the model alone for them.
        decisions: what is fitted anew.

    Returns:
        The new answers for the validation documents.
    """
    task = pipeline.task
    assert isinstance(task, LabelTask)
    answered = [(d, r) for d, r in zip(validation, results, strict=True) if isinstance(r, DocumentPrediction)]
    digest = hashlib.sha256(linear.to_bytes()).hexdigest()
    settings = LinearSettings(
        model_weight=1,
        words_weight=0,
        documents=max(1, len(answered)),
        train_documents=train_documents,
        sha256=digest,
    )
    pipeline.add_linear(linear, settings)
    words = {id(document): pipeline.word_scores(document.text) for document, _ in answered}
    if answered:
        scores = np.array([result.logits for _, result in answered])
        heard = np.stack([words[id(document)] for document, _ in answered])
        targets = task.targets([document for document, _ in answered], pipeline.labels)
        of_model, of_words = mixing_weights(task, scores, heard, targets)
        settings = settings.model_copy(update={"model_weight": of_model, "words_weight": of_words})
        pipeline.add_linear(linear, settings)
    mixed: list[DocumentResult] = []
    for document, result in zip(validation, results, strict=True):
        if isinstance(result, DocumentPrediction):
            result = pipeline.mixed(result, words[id(document)])
        mixed.append(result)
    fit_on_validation(pipeline, validation, mixed, decisions)
    return mixed


def mixing_weights(
    task: LabelTask, model_scores: Floats, word_scores: Floats, targets: Sequence[torch.Tensor]
) -> tuple[float, float]:
    """The two factors, not negative, with the least mean loss of model * factor + words * factor.

    The loss is convex in the factors; they are searched for on a grid of powers of two from 1/64 to 32, and 0, that is
    made finer around the best point. More than 32 would only say how sure to be, which the temperature says.

    Args:
        model_scores, word_scores: (B, K).
        targets: B.
    """
    loss = task.loss()

    def mean(factors: tuple[float, float]) -> float:
        mixed = torch.from_numpy(factors[0] * model_scores + factors[1] * word_scores)
        return float(loss(mixed, targets).mean())

    best = min(((float(a), float(b)) for a in _COARSE for b in _COARSE), key=mean)
    for step in _FINER:
        around = 2.0 ** (step * np.arange(-2, 3))
        best = min(((best[0] * float(a), best[1] * float(b)) for a in around for b in around), key=mean)
    return best

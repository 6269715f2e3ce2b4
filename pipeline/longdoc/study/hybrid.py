"""A model and a linear classifier over words, added up: what each counts is fitted on validation documents.

Stacked generalisation (Wolpert 1992; with weights that are not negative, Breiman 1996), with few parameters, because
validation documents are few: one factor for all scores of the model, one for all of the words, one shift of all scores,
and for each score a shift of its own that is held near it.

Shape letters: B documents, K scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import minimize

from longdoc.linear import LinearClassifier, LinearSettings
from longdoc.pipeline import Pipeline
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.tasks.document_task import Floats
from longdoc.tasks.label_task import LabelTask
from longdoc.training.decisions import fit_on_validation
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["add_words", "mixing_weights"]

_MOST = 32.0
"""The largest factor. A larger one would only say how sure to be, which the temperature says."""
_SPREAD = 0.5
"""How far the shift of one score is from what all are shifted by, as a standard deviation in logits."""


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
        of_model, of_words, shifts = mixing_weights(task, scores, heard, targets)
        settings = settings.model_copy(
            update={"model_weight": of_model, "words_weight": of_words, "shifts": tuple(shifts.tolist())}
        )
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
) -> tuple[float, float, Floats]:
    """The factors of model and words, from 0 to 32, and the shifts (K,) whose sum of scores has the least loss.

    A linear classifier of rare labels is shy: right about the order of documents and too low for all of them. Without
    shifts only a small factor makes up for that, and the words would count for less than they know.

    The loss is that of all answers together, and for each shift the penalty of a normal distribution around what all
    are shifted by. It is convex in everything that is fitted.

    Args:
        model_scores, word_scores: (B, K).
        targets: B.
    """
    loss = task.loss()
    documents, width = model_scores.shape
    model, words = (torch.from_numpy(np.asarray(each, dtype=np.float64)) for each in (model_scores, word_scores))
    answers = width if task.several else 1  # the loss of several labels is a mean over them

    def objective(values: Floats) -> tuple[float, Floats]:
        fitted = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        around = fitted[3:]
        mixed = fitted[0] * model + fitted[1] * words + fitted[2] + around
        total = loss(mixed, targets).mean() * answers + around.square().sum() / (2 * _SPREAD**2 * documents)
        (slope,) = torch.autograd.grad(total, fitted)
        return float(total.detach()), slope.numpy()

    start = np.concatenate([[0.5, 0.5], np.zeros(1 + width)])
    bounds = [(0.0, _MOST)] * 2 + [(None, None)] * (1 + width)
    found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 1000}).x
    return float(found[0]), float(found[1]), np.asarray(found[2] + found[3:], dtype=np.float64)

"""How scores become answers, fitted on validation documents: what a task fits, for a whole pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from longdoc.decide import Decisions
from longdoc.pipeline import Pipeline
from longdoc.tasks.decision_settings import DecisionConfig
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["fit_on_validation"]


def fit_on_validation(
    pipeline: Pipeline, documents: Sequence[Document], results: Sequence[DocumentResult], settings: DecisionConfig
) -> Decisions:
    """Fit on a pipeline's answers for validation documents, and let it answer so from now on.

    Args:
        pipeline: its `settings.decisions` are replaced.
        documents: labelled, the validation documents and no others.
        results: the pipeline's answers, in the order of the documents; failures are left out.
    """
    decisions = Decisions()
    kept = [(d, r) for d, r in zip(documents, results, strict=True) if isinstance(r, DocumentPrediction)]
    if kept:
        answered, answers = [document for document, _ in kept], [answer for _, answer in kept]
        decisions = pipeline.task.fit(answered, answers, pipeline.labels, settings, pipeline.model.readout)
    pipeline.decide_by(decisions)
    return decisions

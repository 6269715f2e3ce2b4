"""A document, its answer by a pipeline, and all that a page says about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longdoc.readers.parsed import told_pages
from longdoc.report.conclusion import Rule
from longdoc.report.html import ExplainedDocument
from longdoc.report.reading import reading_map
from longdoc.types import Document, DocumentFailure, DocumentResult

if TYPE_CHECKING:
    from longdoc.pipeline import Pipeline

__all__ = ["explained", "rule_of", "with_reading"]


def explained(pipeline: Pipeline, document: Document) -> ExplainedDocument:
    """Predict a document with evidence, and say all that a page shows of it."""
    return with_reading(pipeline, document, pipeline.explain(document))


def with_reading(pipeline: Pipeline, document: Document, result: DocumentResult) -> ExplainedDocument:
    """A document and its result, with where it was read and by which rule it was answered.

    Args:
        pipeline: that gave the result.
    """
    from longdoc.evidence import chunks_of_result
    from longdoc.text.chunking import PreparedDocument

    (prepared,) = pipeline.prepare([document])
    if isinstance(result, DocumentFailure) or not isinstance(prepared, PreparedDocument):
        return ExplainedDocument(result, document.text)
    return ExplainedDocument(
        result,
        document.text,
        chunks_of_result(document, result, pipeline.tokenizer, pipeline.chunker),
        told_pages(document.meta),
        document.language,
        reading_map(pipeline.tokenizer.tokenize(document), prepared.chunks),
        rule_of(pipeline),
    )


def rule_of(pipeline: Pipeline) -> Rule:
    """How this pipeline makes answers of scores."""
    decisions, labels = pipeline.settings.decisions, pipeline.labels
    several = getattr(pipeline.task, "several", False)
    thresholds = decisions.thresholds or (0.5,) * len(labels)
    return Rule(
        dict(zip(labels, thresholds, strict=True)) if several else {},
        None if decisions.conformal is None else decisions.conformal.coverage,
        decisions.min_score,
        tuple(labels) if pipeline.task.ordered else (),
        decisions.temperature,
    )

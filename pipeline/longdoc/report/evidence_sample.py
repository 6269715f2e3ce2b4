"""The evidence that the report of an evaluation needs: of a sample of all answers, and of the worst errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from longdoc.pipeline import Pipeline
from longdoc.report.explaining import with_reading
from longdoc.report.findings import Surprise, evidence_strip
from longdoc.report.html import explanation_page
from longdoc.types import Document, DocumentPrediction, DocumentResult

__all__ = ["evidence_page_of", "explained_sample", "with_strips"]


def explained_sample(
    pipeline: Pipeline,
    documents: Sequence[Document],
    results: Sequence[DocumentResult],
    most: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[tuple[int, DocumentPrediction]]:
    """Numbers and explained answers of at most so many documents, spread evenly over the data.

    What is chosen does not depend on the answers, but for documents that cannot be explained.
    """
    able = [number for number, result in enumerate(results) if _has_evidence(pipeline, result)]
    chosen = able if len(able) <= most else [able[n * len(able) // most] for n in range(most)]
    explained = []
    for number, result in zip(chosen, _explained(pipeline, documents, chosen), strict=True):
        if isinstance(result, DocumentPrediction):
            explained.append((number, result))
        if progress is not None:
            progress(len(explained), len(chosen))
    return explained


def with_strips(
    pipeline: Pipeline,
    documents: Sequence[Document],
    results: Sequence[DocumentResult],
    surprises: Sequence[Surprise],
    progress: Callable[[int, int], None] | None = None,
) -> list[tuple[Surprise, DocumentResult]]:
    """The same errors with where their evidence stands, and their answers: explained where that is possible."""
    able = [each.number for each in surprises if _has_evidence(pipeline, results[each.number])]
    explained: dict[int, DocumentResult] = {}
    for number, result in zip(able, _explained(pipeline, documents, able), strict=True):
        explained[number] = result
        if progress is not None:
            progress(len(explained), len(able))
    found = []
    for each in surprises:
        answer = explained.get(each.number, results[each.number])
        strip = evidence_strip(documents[each.number], answer) if isinstance(answer, DocumentPrediction) else ()
        found.append((replace(each, strip=strip), answer))
    return found


def _has_evidence(pipeline: Pipeline, result: DocumentResult) -> bool:
    """Answers that say themselves where they stand have none, and neither have those of words added to chunks."""
    if pipeline.linear is not None or not isinstance(result, DocumentPrediction):
        return False
    return bool(pipeline.task.explained(result, pipeline.labels))


def _explained(pipeline: Pipeline, documents: Sequence[Document], numbers: Sequence[int]) -> Iterator[DocumentResult]:
    return pipeline.stream_with_evidence(documents[number] for number in numbers)


def evidence_page_of(pipeline: Pipeline, document: Document, result: DocumentResult) -> str:
    """A page with the text of one document."""
    return explanation_page([with_reading(pipeline, document, result)])

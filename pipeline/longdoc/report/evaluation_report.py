"""The report of an evaluation as files: `report.html`, and with texts a page for each of the worst errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longdoc.files import make_folder, write_text
from longdoc.pipeline import Pipeline
from longdoc.report.evaluation_page import evaluation_page
from longdoc.report.evidence_sample import evidence_page_of, explained_sample, with_strips
from longdoc.report.findings import EvaluationFindings, evaluation_findings
from longdoc.types import Document, DocumentResult

__all__ = ["write_report"]


def write_report(
    folder: Path,
    pipeline: Pipeline,
    documents: Sequence[Document],
    results: Sequence[DocumentResult],
    metrics: Mapping[str, Any],
    sample: int = 12,
    texts: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> EvaluationFindings:
    """Write the report of an evaluation into a folder that exists.

    Args:
        documents, results, metrics: as `evaluate_documents` gives them.
        sample: how many documents are explained, where the data do not say where the evidence stands.
        texts: whether the worst errors get pages with their texts, in `errors/`.

    Raises:
        CannotWriteError: the folder takes no files.
    """
    task, labels = pipeline.task, pipeline.labels
    says_places = any(outcome.places for outcome in task.outcomes(documents, results, labels))
    explained = [] if says_places else explained_sample(pipeline, documents, results, sample, progress)
    findings = evaluation_findings(task, documents, results, labels, explained)
    worst = with_strips(pipeline, documents, results, findings.surprises, progress)
    findings = replace(findings, surprises=tuple(each for each, _ in worst))
    links = [f"errors/{number:02d}.html" for number in range(1, len(worst) + 1)] if texts else []
    if links:
        make_folder(folder / "errors")
    for link, (each, answer) in zip(links, worst, strict=False):
        write_text(folder / link, evidence_page_of(pipeline, documents[each.number], answer))
    write_text(folder / "report.html", evaluation_page(metrics, findings, task.outcome_name, links=links))
    return findings

"""The seam where engines attach: `run_part` turns one part of the plan into one file.

Every engine calls it, in whatever process, in whatever order, as often as it likes: the same part gives the same
bytes under the same name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from longdoc.errors import DocumentError, FailureReason, JobError, PlanMismatchError, on_one_line
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.parts import PartOutcome, write_part
from longdoc.jobs.rows import JobResult
from longdoc.jobs.sources import RollCall, read_records
from longdoc.readers.parsed import pages_without_text, told_pages
from longdoc.types import Document, DocumentFailure

__all__ = ["OnDocument", "Predictor", "answer_alone", "has_textless_pages", "part_documents", "run_part"]

OnDocument = Callable[[bool], None]
"""Called once a document with whether it failed. A document may be announced again when its part is run again."""


class Predictor(Protocol):
    """What a job needs of a pipeline.

    `fingerprint` decides whether results may be mixed: model, chunking, precision, versions. `stream` gives one
    result a document, in input order; a failure that goes in comes out unchanged. Where it has `repeats` (as
    `Pipeline.repeats`), a job tells how many chunks were not encoded again.
    """

    @property
    def fingerprint(self) -> str: ...

    def stream(self, documents: Iterable[Document | DocumentFailure], /) -> Iterator[JobResult]: ...


def part_documents(plan: JobPlan, part: PartPlan) -> Iterator[Document | DocumentFailure]:
    """The documents of a part in plan order, read from its sources.

    Raises:
        PlanMismatchError: they are not the documents that were planned.
    """
    roll = RollCall()
    for _, record in itertools.islice(read_records(plan.inputs, plan.read, part.source, part.cursor), part.documents):
        roll.add(record.document)
        yield record.document
    if (roll.hexdigest(), roll.unreadable) != (part.digest, part.unreadable):
        first = on_one_line(plan.sources[part.source].name)
        raise PlanMismatchError(
            f"the documents of {plan.part_name(part)}, from {first} on, are not those of the "
            "plan any more: the inputs have changed while the job ran. Start again in another folder."
        )


def run_part(
    predictor: Predictor, plan: JobPlan, part: PartPlan, output: Path, on_document: OnDocument | None = None
) -> PartOutcome:
    """Read the documents of a part, answer them, and write the part, whole or not at all.

    When `predictor.stream` raises, the part is run again document by document, and the one it raised for becomes a
    failure with the exception's class name; its neighbours are answered.

    Raises:
        JobError: the predictor does not give one result a document, in input order.
        PlanMismatchError: the documents are not those of the plan any more.
        CannotWriteError: the part cannot be written.
    """
    before = _repeats(predictor)
    feed = _Feed(plan, part)
    results: list[JobResult] = []
    for result in feed.answers(predictor):
        results.append(result)
        if on_document is not None:
            on_document(not result.ok)
    if feed.broken:
        feed.partly_textless = 0
        results = [answer_alone(predictor, document) for document in map(feed.note, part_documents(plan, part))]
        feed.ids = [result.id for result in results]
    for number, (fed, answered) in enumerate(itertools.zip_longest(feed.ids, (result.id for result in results))):
        if fed != answered:
            raise JobError(
                f"the predictor must give one result a document in input order, but result {number} of "
                f"{plan.part_name(part)} is missing, too many or another document's. Nothing was written."
            )
    outcome = write_part(output, plan, part, results)
    chunks, repeated = (after - earlier for after, earlier in zip(_repeats(predictor), before, strict=True))
    return replace(outcome, chunks=chunks, repeated_chunks=repeated, partly_textless=feed.partly_textless)


def has_textless_pages(document: Document | DocumentFailure) -> bool:
    """Whether a document has pages without text, such as scans, beside those that are answered for."""
    return isinstance(document, Document) and bool(pages_without_text(told_pages(document.meta), document.text))


def _repeats(predictor: Predictor) -> tuple[int, int]:
    """Chunks that the predictor was asked for so far, and those that it did not encode again."""
    count = getattr(predictor, "repeats", None)
    return (0, 0) if count is None else (count.chunks, count.repeated_chunks)


def answer_alone(predictor: Predictor, document: Document | DocumentFailure) -> JobResult:
    """The answer for one document with nobody beside it; an exception becomes its failure.

    Raises:
        JobError: the predictor gives no result, several, or one of another document.
    """
    if isinstance(document, DocumentFailure):
        return document
    try:
        results = list(predictor.stream(iter([document])))
    except Exception as error:
        return DocumentFailure(document.id, _reason(error), _stage(error), type(error).__name__)
    if [result.id for result in results] != [document.id]:
        raise JobError(
            "the predictor must give one result for one document, its own, but does not. Nothing was written."
        )
    return results[0]


def _reason(error: Exception) -> FailureReason:
    if isinstance(error, DocumentError):
        return error.reason
    if isinstance(error, MemoryError):
        return "memory_limit"
    return "timeout" if isinstance(error, TimeoutError) else "unreadable"


def _stage(error: Exception) -> str:
    return error.stage if isinstance(error, DocumentError) else "predict"


class _Feed:
    """Hands the documents of a part to the predictor and tells its faults from those of the inputs.

    Attributes:
        ids: of the documents handed out so far.
        broken: the predictor has raised.
        partly_textless: documents with pages without text among those that were noted.
    """

    def __init__(self, plan: JobPlan, part: PartPlan) -> None:
        self._plan, self._part = plan, part
        self._fault: Exception | None = None
        self.ids: list[str] = []
        self.broken = False
        self.partly_textless = 0

    def note(self, document: Document | DocumentFailure) -> Document | DocumentFailure:
        """Count a document before it is answered."""
        self.partly_textless += has_textless_pages(document)
        return document

    def answers(self, predictor: Predictor) -> Iterator[JobResult]:
        """The results of `stream` up to its end or the first exception."""
        try:
            yield from predictor.stream(self._documents())
        except Exception:
            if self._fault is not None:  # it only passed through the predictor
                raise self._fault from None
            self.broken = True

    def _documents(self) -> Iterator[Document | DocumentFailure]:
        try:
            for document in part_documents(self._plan, self._part):
                self.ids.append(document.id)
                yield self.note(document)
        except Exception as error:
            self._fault = error
            raise

"""Find the document that kills: run a part one document at a time in a worker, and outlive the worker."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from longdoc.errors import JobError
from longdoc.jobs.attempts import DocumentAttempts
from longdoc.jobs.engines.base import JobWork, check_fingerprint
from longdoc.jobs.engines.worker import DEATHS_WHILE_LOADING, WorkerProcess, raise_reported
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome, write_part
from longdoc.jobs.rows import JobResult
from longdoc.jobs.work import has_textless_pages, part_documents, run_part
from longdoc.types import DocumentFailure

__all__ = ["isolate_each"]

_log = logging.getLogger(__name__)
_DEADLY_IN_A_ROW = 16


def isolate_each(work: JobWork, suspects: Sequence[PartPlan]) -> Iterator[PartOutcome]:
    """Answer parts that were at work in two deaths, one after the other; the predictor of this process makes room."""
    if suspects:
        work.predictor.drop()
    for part in suspects:
        outcome = None if work.stopping() else _isolate(work, part)
        if outcome is None:
            return
        yield outcome


def _isolate(work: JobWork, part: PartPlan) -> PartOutcome | None:
    """Answer a part document by document; None when the job was asked to stop before its end.

    A document that kills its worker `max_attempts` times becomes a failure `worker_died`, with the signal as its
    `error`. All other documents are answered as ever.

    Raises:
        JobError: worker after worker dies, whatever the document: the machine is at fault.
    """
    with _Solitary(work, part) as solitary:
        ids: list[str] = []
        textless = 0
        for document in part_documents(work.plan, part):
            ids.append(document.id)
            textless += has_textless_pages(document)
        results: list[JobResult] = []
        deadly_in_a_row = 0
        for ordinal, identity in enumerate(ids):
            result: JobResult | None = None
            tried = False
            while result is None:
                if work.stopping():
                    work.attempts.settle()
                    return None
                given_up = work.attempts.given_up(part.number, ordinal, work.job.max_attempts)
                if given_up is not None:
                    result = _worker_died(identity, given_up)
                elif not solitary.can_start:
                    return _in_line(work, part)
                else:
                    result, tried = solitary.answer(ordinal), True
            if tried:  # verdicts of earlier runs say nothing about the machine now
                deadly_in_a_row = deadly_in_a_row + 1 if given_up is not None else 0
            if deadly_in_a_row >= _DEADLY_IN_A_ROW:
                raise JobError(
                    f"{deadly_in_a_row} documents in a row of {work.plan.part_name(part)} killed their worker, each "
                    f"{work.job.max_attempts} times. The machine rather than the documents is at fault: look for "
                    "memory. The same command goes on from here."
                )
            results.append(result)
            work.on_document(not result.ok)
        outcome = replace(write_part(work.output, work.plan, part, results), partly_textless=textless)
    work.attempts.finish(part.number)
    return outcome


def _worker_died(identity: str, attempts: DocumentAttempts) -> DocumentFailure:
    return DocumentFailure(identity, "worker_died", "predict", attempts.cause)


def _in_line(work: JobWork, part: PartPlan) -> PartOutcome:
    """No worker can be started (the program's main module cannot be imported): run the part without a guard."""
    if work.job.workers > 1:
        raise JobError(
            f"{DEATHS_WHILE_LOADING} workers in a row died while they loaded the model. Look for memory; a script "
            "that starts a job needs `if __name__ == '__main__':`."
        )
    _log.warning("%s is run without a guard: no worker process can be started", work.plan.part_name(part))
    predictor = work.predictor.get()
    check_fingerprint(predictor, work.plan)
    outcome = run_part(predictor, work.plan, part, work.output, work.on_document)
    work.attempts.finish(part.number)
    return outcome


class _Solitary:
    """One worker after another, for one document after another."""

    def __init__(self, work: JobWork, part: PartPlan) -> None:
        self._work, self._part = work, part
        self._worker: WorkerProcess | None = None
        self._failed_starts = 0

    def __enter__(self) -> _Solitary:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.close()

    @property
    def can_start(self) -> bool:
        return self._failed_starts < DEATHS_WHILE_LOADING

    def answer(self, ordinal: int) -> JobResult | None:
        """The answer for a document, or None when the worker died, before or during it."""
        worker = self._ready_worker()
        if worker is None:
            return None
        number, attempts = self._part.number, self._work.attempts
        attempts.start_document(number, ordinal)
        worker.ask("alone", number, ordinal)
        try:
            result: JobResult = self._next(worker)[0]
        except EOFError:
            cause = self._bury(worker)
            attempts.died(number, ordinal, cause)
            _log.warning("document %d of %s, run alone, killed its worker: %s", ordinal, self._name, cause)
            return None
        attempts.survived(number, ordinal)
        return result

    @property
    def _name(self) -> str:
        return self._work.plan.part_name(self._part)

    def _ready_worker(self) -> WorkerProcess | None:
        if self._worker is None:
            self._worker = WorkerProcess(self._work.predictor.load, self._work.plan, self._work.output)
            try:
                self._next(self._worker)
            except EOFError:
                self._failed_starts += 1
                cause = self._bury(self._worker)
                _log.warning("a worker died of %s while it loaded the model", cause)
                return None
            self._failed_starts = 0
        return self._worker

    def _next(self, worker: WorkerProcess) -> tuple[JobResult, ...]:
        """Wait for the worker's next message."""
        while True:
            message = worker.receive()
            if message is not None:
                topic, *content = message
                if topic == "error":
                    raise_reported(*content)
                return tuple(content)

    def _bury(self, worker: WorkerProcess) -> str:
        cause = worker.cause_of_death()
        worker.close()
        self._worker = None
        return cause

"""Parts one after the other in this process, or side by side in workers that may die.

A worker that dies (out of memory, a fault in native code, somebody's kill -9) is replaced and its part tried again.
A part that was at work in two deaths is run document by document, with a living parent looking on, so that the
document that kills is found and the others are answered.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler

from longdoc.errors import JobError, UsageError
from longdoc.jobs.engines.base import Engine, JobWork, check_fingerprint
from longdoc.jobs.engines.isolation import isolate_each
from longdoc.jobs.engines.worker import DEATHS_WHILE_LOADING, WorkerProcess, raise_reported
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.work import run_part

__all__ = ["LocalEngine", "can_be_sent"]

_log = logging.getLogger(__name__)


class LocalEngine(Engine):
    """The engine of one machine. With `workers` 1 nothing is spawned unless a part is under suspicion."""

    def run(self, work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
        """Raises:
        UsageError: several workers, and the loader of the predictor cannot be sent to them.
        JobError, PlanMismatchError, CannotWriteError: as `run_part`, from whatever process.
        """
        return _run(work, parts)


def _run(work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
    several = work.job.workers > 1
    # Suspects come last: what kills a machine must not keep the others from being done.
    suspects = [part for part in parts if work.attempts.suspect(part.number)]
    if (several or suspects) and not can_be_sent(work):
        if several:
            raise UsageError(
                f"`workers` is {work.job.workers}, so `load` must be a function at the top of a module (or a partial "
                "of one), but it cannot be sent to another process. Move it there, or set `workers` to 1."
            )
        suspects = []
    normal = [part for part in parts if part not in suspects]
    if several:
        work.predictor.drop()  # each worker has its own; a second one here would only take memory
        yield from _side_by_side(work, normal, suspects)
    else:
        yield from _in_line(work, normal)
    yield from isolate_each(work, suspects)


def can_be_sent(work: JobWork) -> bool:
    """Whether the loader of the predictor can go to another process."""
    try:
        ForkingPickler.dumps(work.predictor.load)
    except Exception:  # whatever is wrong with it: it cannot go to another process
        return False
    return True


def _in_line(work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
    for part in parts:
        if work.stopping():
            return
        predictor = work.predictor.get()
        check_fingerprint(predictor, work.plan)
        work.attempts.start(part.number)
        try:
            outcome = run_part(predictor, work.plan, part, work.output, work.on_document)
        except BaseException:
            work.attempts.cancel(part.number)
            raise
        work.attempts.finish(part.number)
        yield outcome


def _side_by_side(work: JobWork, parts: Sequence[PartPlan], suspects: list[PartPlan]) -> Iterator[PartOutcome]:
    """Hand parts to workers; parts that come under suspicion are appended to `suspects`."""
    queue = deque(parts)
    workers: list[WorkerProcess] = []
    deaths_while_loading = 0
    try:
        while queue or any(worker.part for worker in workers):
            if work.stopping():
                queue.clear()
                if not any(worker.part for worker in workers):
                    return
            busy = sum(worker.part is not None for worker in workers)
            while len(workers) < min(work.job.workers, busy + len(queue)):
                workers.append(WorkerProcess(work.predictor.load, work.plan, work.output))
            for worker in workers:
                if worker.ready and worker.part is None and queue:
                    worker.part = queue.popleft()
                    work.attempts.start(worker.part.number)
                    worker.ask("part", worker.part.number)
            wait([worker.connection for worker in workers] + [w.process.sentinel for w in workers], timeout=0.5)
            for worker in list(workers):
                try:
                    outcome = _listen(work, worker)
                except EOFError:
                    workers.remove(worker)
                    deaths_while_loading = 0 if worker.ready else deaths_while_loading + 1
                    _bury(work, worker, queue, suspects, deaths_while_loading)
                else:
                    deaths_while_loading = 0 if worker.ready else deaths_while_loading
                    if outcome is not None:
                        yield outcome
    finally:
        for worker in workers:
            if worker.part is not None:  # an error elsewhere, or an impatient user: not its fault
                work.attempts.cancel(worker.part.number)
            worker.close()


def _listen(work: JobWork, worker: WorkerProcess) -> PartOutcome | None:
    """Take in what a worker has to say; its outcome once a part is committed."""
    while (message := worker.receive(timeout=0)) is not None:
        topic, *content = message
        if topic == "ready":
            worker.ready = True
        elif topic == "document":
            work.on_document(content[0])
        elif topic == "error":
            raise_reported(*content)
        else:
            outcome: PartOutcome = content[0]
            work.attempts.finish(outcome.number)
            worker.part = None
            return outcome
    return None


def _bury(
    work: JobWork, worker: WorkerProcess, queue: deque[PartPlan], suspects: list[PartPlan], deaths_while_loading: int
) -> None:
    cause, part = worker.cause_of_death(), worker.part
    worker.close()
    if work.stopping():
        return
    if deaths_while_loading >= DEATHS_WHILE_LOADING:
        raise JobError(
            f"{deaths_while_loading} workers in a row died while they loaded the model (the last of {cause}). "
            "Lower `workers` if memory is short; a script that starts a job needs `if __name__ == '__main__':`."
        )
    if part is None:
        return
    name = work.plan.part_name(part)
    if work.attempts.suspect(part.number):
        _log.warning("a worker died of %s in %s for the second time: it is run document by document", cause, name)
        suspects.append(part)
    else:
        _log.warning("a worker died of %s in %s: it is tried again", cause, name)
        queue.append(part)

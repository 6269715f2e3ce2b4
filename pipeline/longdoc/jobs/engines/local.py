"""Parts one after the other in this process, or side by side in workers that may die.

A worker that dies (out of memory, a fault in native code, somebody's kill -9) is replaced and its part tried again.
A part that was at work in two deaths is run document by document, with a living parent looking on, so that the
document that kills is found and the others are answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler

from longdoc.errors import UsageError
from longdoc.jobs.engines.base import Engine, JobWork, check_fingerprint
from longdoc.jobs.engines.isolation import isolate_each
from longdoc.jobs.engines.pool import side_by_side
from longdoc.jobs.engines.worker import WorkerProcess
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.work import run_part

__all__ = ["LocalEngine", "can_be_sent"]


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
        yield from side_by_side(work, normal, suspects, _Processes(work))
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


class _Processes:
    """Workers as processes of this machine."""

    advice = "Lower `workers` if memory is short; a script that starts a job needs `if __name__ == '__main__':`."

    def __init__(self, work: JobWork) -> None:
        self._work = work

    def hire(self) -> WorkerProcess:
        return WorkerProcess(self._work.predictor.load, self._work.plan, self._work.output)

    def wait(self, workers: Sequence[WorkerProcess]) -> None:
        wait([worker.connection for worker in workers] + [w.process.sentinel for w in workers], timeout=0.5)

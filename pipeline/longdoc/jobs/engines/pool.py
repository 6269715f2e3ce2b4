"""Parts for workers that may die: who is at work on what, what is tried again, and what is under suspicion."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from longdoc.errors import JobError
from longdoc.jobs.engines.base import JobWork
from longdoc.jobs.engines.worker import DEATHS_WHILE_LOADING, raise_reported
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome

__all__ = ["PoolWorker", "Staff", "side_by_side"]

_log = logging.getLogger(__name__)


class PoolWorker(Protocol):
    """This process's end of a worker, wherever it is.

    Attributes:
        part: the part it is at work on, None when idle.
        ready: whether its predictor is loaded.
    """

    part: PartPlan | None
    ready: bool

    def ask(self, *message: Any) -> None:
        """Send `("part", number)`. A worker that has died meanwhile is noticed by `receive`."""

    def receive(self, timeout: float = 0) -> tuple[Any, ...] | None:
        """`("ready",)`, `("document", failed)`, `("part", outcome)`, `("error", class name, message)`, or None.

        Raises:
            EOFError: the worker has died and has said all it had to say.
        """

    def cause_of_death(self) -> str:
        """In a word, for the log."""

    def close(self) -> None:
        """End the worker, idle or not."""


_W = TypeVar("_W", bound=PoolWorker)


class Staff(Protocol[_W]):
    """Where workers come from.

    Attributes:
        advice: what people can do when workers die while they load the model.
    """

    advice: str

    def hire(self) -> _W:
        """Start a worker."""

    def wait(self, workers: Sequence[_W]) -> None:
        """Return when one of them may have something to say, at the latest after half a second."""


def side_by_side(
    work: JobWork, parts: Sequence[PartPlan], suspects: list[PartPlan], staff: Staff[_W]
) -> Iterator[PartOutcome]:
    """Hand parts to `work.job.workers` workers; parts that come under suspicion are appended to `suspects`.

    Raises:
        JobError: workers die before they are ready, one after the other.
        LongDocError: what a worker has stopped with.
    """
    queue = deque(parts)
    workers: list[_W] = []
    deaths_while_loading = 0
    try:
        while queue or any(worker.part for worker in workers):
            if work.stopping():
                queue.clear()
                if not any(worker.part for worker in workers):
                    return
            busy = sum(worker.part is not None for worker in workers)
            while len(workers) < min(work.job.workers, busy + len(queue)):
                workers.append(staff.hire())
            for worker in workers:
                if worker.ready and worker.part is None and queue:
                    worker.part = queue.popleft()
                    work.attempts.start(worker.part.number)
                    worker.ask("part", worker.part.number)
            staff.wait(workers)
            for worker in list(workers):
                try:
                    outcome = _listen(work, worker)
                except EOFError:
                    workers.remove(worker)
                    deaths_while_loading = 0 if worker.ready else deaths_while_loading + 1
                    _bury(work, worker, queue, suspects, deaths_while_loading, staff.advice)
                else:
                    deaths_while_loading = 0 if worker.ready else deaths_while_loading
                    if outcome is not None:
                        yield outcome
    finally:
        for worker in workers:
            if worker.part is not None:  # an error elsewhere, or an impatient user: not its fault
                work.attempts.cancel(worker.part.number)
            worker.close()


def _listen(work: JobWork, worker: PoolWorker) -> PartOutcome | None:
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
    work: JobWork,
    worker: PoolWorker,
    queue: deque[PartPlan],
    suspects: list[PartPlan],
    deaths_while_loading: int,
    advice: str,
) -> None:
    cause, part = worker.cause_of_death(), worker.part
    worker.close()
    if work.stopping():
        return
    if deaths_while_loading >= DEATHS_WHILE_LOADING:
        raise JobError(
            f"{deaths_while_loading} workers in a row died while they loaded the model (the last of {cause}). {advice}"
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

"""Parts handed to actors of Ray, on this machine or on a cluster whose machines share a file system.

Ray places the workers and tells when one dies; what is done and what is missing is decided by the files alone, as in
every engine. The driver hands out parts, counts deaths and writes the manifest; each worker commits its part by the
same atomic rename, so it does no harm when a part is answered twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from longdoc.errors import UsageError
from longdoc.jobs.engines.base import Engine, JobWork
from longdoc.jobs.engines.isolation import isolate_each
from longdoc.jobs.engines.local import can_be_sent
from longdoc.jobs.engines.pool import side_by_side
from longdoc.jobs.engines.ray_session import Share, check_installed, connected
from longdoc.jobs.engines.stall import StallWatch
from longdoc.jobs.job_plan import PartPlan
from longdoc.jobs.parts import PartOutcome

if TYPE_CHECKING:
    from longdoc.jobs.engines.ray_worker import RayWorker

__all__ = ["RayEngine"]

_PULSE_SECONDS = 2.0


class RayEngine(Engine):
    """The engine of a cluster; the extra `ray`. `workers` actors, each with a predictor of its own.

    Raises:
        UsageError: ray is not installed.
    """

    def __init__(self) -> None:
        check_installed()

    def run(self, work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
        """Raises:
        UsageError: the cluster has no room for so many workers, or the loader of the predictor cannot be sent to them.
        JobError, PlanMismatchError, CannotWriteError: as `run_part`, from whatever process.
        InterruptedJobError: Ray does not start, or no worker has shown a sign of work for too long.
        """
        if not can_be_sent(work):
            raise UsageError(
                "with the engine ray `load` must be a function at the top of a module (or a partial of one), but it "
                "cannot be sent to another process. Move it there."
            )
        suspects = [part for part in parts if work.attempts.suspect(part.number)]
        normal = [part for part in parts if part not in suspects]
        work.predictor.drop()  # each worker has its own; a second one here would only take memory
        if normal:
            with connected(work.job.ray, work.job.workers, work.stopping) as share:
                yield from side_by_side(work, normal, suspects, _Actors(work, share))
        yield from isolate_each(work, suspects)


class _Actors:
    """Workers as actors, none of which Ray restarts: who was at work when one died is for the driver to know."""

    advice = "Lower `workers` if memory is short, and look at the workers' machines: each needs longdoc and the model."

    def __init__(self, work: JobWork, share: Share) -> None:
        import ray

        from longdoc.jobs.engines.ray_worker import PartsActor, RayWorker

        self._work = work
        self._worker = RayWorker
        self._actor = ray.remote(
            num_cpus=share.cpus, num_gpus=share.gpus, max_restarts=0, max_task_retries=0, max_concurrency=2
        )(PartsActor)
        self._watch = StallWatch(work.job.stall_minutes)
        self._felt = time.monotonic()

    def hire(self) -> RayWorker:
        work = self._work
        return self._worker(
            self._actor.remote(
                work.predictor.load, Path.cwd(), work.output, work.plan.fingerprint, work.plan.inputs, work.plan.read
            )
        )

    def wait(self, workers: Sequence[RayWorker]) -> None:
        """Raises `InterruptedJobError` when none of them has shown a sign of work for too long."""
        import ray

        references = [reference for worker in workers for reference in worker.waited_for]
        if references:
            ray.wait(references, timeout=0.5)
        if time.monotonic() - self._felt < _PULSE_SECONDS:
            return
        self._felt = time.monotonic()
        for worker in workers:
            worker.feel_pulse()
            self._watch.sign(worker, (worker.ready, worker.part, worker.reading))
        starting = sum(not worker.ready for worker in workers)
        self._watch.check(f"{starting} of {len(workers)} workers to start" if starting else "a worker's next part")

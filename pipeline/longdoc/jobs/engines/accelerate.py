"""Parts divided among the processes of one `accelerate launch -m longdoc predict ...`, on one machine or several.

Rank 0 leads: it plans, holds the lock and writes the manifest. Every process, the leader too, draws the next part that
nobody has, answers it with a model of its own and commits it. All must see the output folder under the same path. The
launcher ends all processes when one has died; the same command goes on from the finished parts.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from longdoc.errors import InterruptedJobError, JobError, LongDocError
from longdoc.jobs.engines.at_work import announced, count_deaths
from longdoc.jobs.engines.base import Engine, Enlisted, JobWork, check_fingerprint
from longdoc.jobs.engines.isolation import isolate_each
from longdoc.jobs.engines.launch import Launch
from longdoc.jobs.engines.local import can_be_sent
from longdoc.jobs.engines.shared import shared_plan
from longdoc.jobs.engines.stall import Pulse, StallWatch
from longdoc.jobs.engines.worker import raise_reported
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.job_report import JobReport
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.sources import list_sources
from longdoc.jobs.work import run_part
from longdoc.launched import in_launch

__all__ = ["AccelerateEngine"]

_PULSE_SECONDS = 5.0


class AccelerateEngine(Engine):
    """The engine of a launch; in a process that was started alone it does everything itself."""

    def __init__(self) -> None:
        self._launch = Launch() if in_launch() else None

    def follow(self, enlisted: Enlisted) -> JobReport | None:
        if self._launch is None or self._launch.rank == 0:
            return None
        launch = self._launch
        enlisted.interruption.patient = True
        orders = launch.wait_for("orders", enlisted.interruption.stopping, "end")
        if orders is not None:
            told: dict[str, Any] = {}
            try:
                _help(launch, enlisted, orders)
            except LongDocError as error:
                told = {"error": [type(error).__name__, str(error)]}
                raise
            except Exception as error:  # only the class leaves the process: a message may quote a text
                told = {"error": ["JobError", f"a process stopped with {type(error).__name__}. Nothing was lost."]}
                raise
            finally:
                launch.tell(f"left/{launch.rank}", told)
        end = launch.wait_for("end", lambda: False)
        if "error" in end:
            raise_reported(*end["error"])
        return JobReport(**(end["report"] | {"cut_sources": tuple(end["report"]["cut_sources"])}))

    def run(self, work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
        count_deaths(work.output, work.attempts)
        can_be_isolated = can_be_sent(work)
        suspects = [part for part in parts if can_be_isolated and work.attempts.suspect(part.number)]
        normal = [part for part in parts if part not in suspects]
        launch = self._launch
        if launch is not None:
            launch.tell("orders", {"plan": work.plan.fingerprint, "parts": [part.number for part in normal]})
        crew = _Crew(launch, work)
        while (drawn := launch.draw() if launch else next(crew.alone)) < len(normal) and not work.stopping():
            yield _own_part(work, normal[drawn])
            yield from crew.news()
        if work.stopping() and launch is not None:
            launch.tell("stop", True)
        while not crew.all_left():
            time.sleep(0.2)
            yield from crew.news()
        yield from crew.news()
        yield from isolate_each(work, suspects)

    def dismiss(self, ending: JobReport | LongDocError) -> None:
        launch = self._launch
        if launch is None or launch.rank != 0:
            return
        launch.tell("stop", True)
        if isinstance(ending, JobReport):
            launch.tell("end", {"report": dataclasses.asdict(ending)})
        else:
            launch.tell("end", {"error": [type(ending).__name__, str(ending)]})


def _own_part(work: JobWork, part: PartPlan) -> PartOutcome:
    """The leader at work; its attempts are counted where those of the local engine are."""
    _own_device()
    predictor = work.predictor.get()
    check_fingerprint(predictor, work.plan)
    work.attempts.start(part.number)
    try:
        outcome = run_part(predictor, work.plan, part, work.output, work.on_document)
    except BaseException:
        work.attempts.cancel(part.number)
        raise
    work.attempts.finish(part.number)
    return outcome


class _Crew:
    """The leader's view of the others.

    Attributes:
        alone: numbers to draw where there are no others.
    """

    def __init__(self, launch: Launch | None, work: JobWork) -> None:
        self._launch, self._work = launch, work
        self._ranks = range(1, launch.size) if launch else range(0)
        self._heard = dict.fromkeys(self._ranks, 0)
        self._watch = StallWatch(work.job.stall_minutes)
        self.alone = iter(range(len(work.plan.parts) + 1))

    def news(self) -> Iterator[PartOutcome]:
        """Outcomes that the others have told since the last time.

        Raises:
            LongDocError: what one of them has stopped with.
            JobError: none has shown a sign of work for too long.
        """
        for rank in self._ranks:
            assert self._launch is not None
            self._watch.sign(rank, self._launch.heard(f"pulse/{rank}"))
            while (told := self._launch.heard(f"outcome/{rank}/{self._heard[rank]}")) is not None:
                self._heard[rank] += 1
                outcome = PartOutcome(**told)
                for number in range(outcome.documents):
                    self._work.on_document(number < outcome.failed)
                yield outcome
            left = self._launch.heard(f"left/{rank}")
            if left and "error" in left and left["error"][0] != InterruptedJobError.__name__:
                raise_reported(*left["error"])

    def all_left(self) -> bool:
        """Whether all others are done. Raises `JobError` as `news` does."""
        waiting = [rank for rank in self._ranks if self._launch and self._launch.heard(f"left/{rank}") is None]
        if waiting:
            self._watch.check(f"process {waiting[0]} of {len(self._ranks) + 1}")
        return not waiting


def _help(launch: Launch, enlisted: Enlisted, orders: dict[str, Any]) -> None:
    """Draw parts and commit them until none is left."""
    plan = _plan(enlisted, orders["plan"])
    parts = [plan.parts[number] for number in orders["parts"]]
    pulse, over = Pulse(), threading.Event()
    beat = threading.Thread(target=_beat, args=(launch, pulse, over), daemon=True)
    beat.start()
    done = 0
    try:
        while not (enlisted.interruption.stopping() or launch.heard("stop")):
            drawn = launch.draw()
            if drawn >= len(parts):
                return
            part = parts[drawn]
            with announced(enlisted.output, launch.rank, part.number):
                _own_device()
                predictor = enlisted.predictor.get()
                check_fingerprint(predictor, plan)
                outcome = run_part(predictor, plan, part, enlisted.output, pulse.document)
            launch.tell(f"outcome/{launch.rank}/{done}", dataclasses.asdict(outcome))
            done += 1
    finally:
        over.set()
        beat.join()


def _beat(launch: Launch, pulse: Pulse, over: threading.Event) -> None:
    while not over.wait(_PULSE_SECONDS):
        try:
            launch.tell(f"pulse/{launch.rank}", pulse.reading())
        except JobError:
            return  # the process notices by itself when its part is done


def _plan(enlisted: Enlisted, fingerprint: str) -> JobPlan:
    """The leader's plan from the output folder, with the inputs as this process finds them."""
    plan = shared_plan(enlisted.output, fingerprint)
    found = list_sources(enlisted.inputs, enlisted.read, enlisted.output)
    if [source.name for source in found] != [source.name for source in plan.sources]:
        raise JobError(
            "every process must find the same inputs, but this one finds others than the leader. Name them by paths "
            "that are the same on all machines."
        )
    return JobPlan(plan.settings, plan.sources, plan.parts, tuple(found), enlisted.read)


def _own_device() -> None:
    """One GPU a process, where there are several on this machine."""
    import torch

    count = torch.cuda.device_count()
    if count > 1:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % count)

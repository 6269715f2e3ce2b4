"""A worker of the engine `ray`, at both ends: the actor that answers parts, and what the driver knows of it.

Everything an actor says is a return value. Nothing is raised in it: Ray would carry an exception's message and its
traceback to the driver and into its logs, and a message may quote a text.
"""

from __future__ import annotations

import dataclasses
import os
import resource
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray

from longdoc.errors import LongDocError
from longdoc.jobs.engines.base import check_fingerprint
from longdoc.jobs.engines.shared import shared_plan
from longdoc.jobs.engines.stall import Pulse
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.work import Predictor, run_part
from longdoc.readers.base import ReadConfig, Source

__all__ = ["PartsActor", "RayWorker"]


class PartsActor:
    """Lives in a process of Ray. Two threads: one answers parts, the other says how it gets on."""

    def __init__(
        self,
        load: Callable[[], Predictor],
        folder: Path,
        output: Path,
        fingerprint: str,
        inputs: tuple[Source, ...],
        read: ReadConfig,
    ) -> None:
        with suppress(OSError):  # paths may be relative to the driver's folder; where it is not, they are not found
            os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold texts
        self._load, self._output, self._fingerprint = load, output, fingerprint
        self._inputs, self._read = inputs, read
        self._pulse = Pulse()
        self._plan: JobPlan
        self._predictor: Predictor

    def start(self) -> tuple[Any, ...]:
        """Load the predictor. Gives `("ready",)` or `("error", class name, message)`."""
        return _told(self._start)

    def part(self, number: int) -> tuple[Any, ...]:
        """Answer and commit a part. Gives `("part", outcome, documents, failed)`, the numbers in all, or an error."""
        return _told(lambda: self._part(number))

    def pulse(self) -> tuple[int, int, str]:
        """Documents answered, how many of them failed, and what `StallWatch` compares."""
        return self._pulse.documents, self._pulse.failed, self._pulse.reading()

    def _start(self) -> tuple[Any, ...]:
        plan = shared_plan(self._output, self._fingerprint)
        self._plan = dataclasses.replace(plan, inputs=self._inputs, read=self._read)
        self._predictor = self._load()
        check_fingerprint(self._predictor, self._plan)
        return ("ready",)

    def _part(self, number: int) -> tuple[Any, ...]:
        plan = self._plan
        outcome = run_part(self._predictor, plan, plan.parts[number], self._output, self._pulse.document)
        return ("part", outcome, self._pulse.documents, self._pulse.failed)


def _told(act: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    try:
        return act()
    except LongDocError as error:
        return ("error", type(error).__name__, str(error))
    except Exception as error:  # only the class leaves the process
        return ("error", "JobError", f"a worker stopped with {type(error).__name__}. Nothing was lost.")


class RayWorker:
    """The driver's end of an actor; a `PoolWorker`.

    Attributes:
        reading: the last sign of work.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._answer: Any = actor.start.remote()
        self._pulse: Any = None
        self._news: deque[tuple[Any, ...]] = deque()
        self._documents, self._failed = 0, 0
        self._cause = "an unknown cause"
        self.reading: object = None
        self.part: PartPlan | None = None
        self.ready = False

    @property
    def waited_for(self) -> list[Any]:
        """References of Ray that are there once the worker has something to say."""
        return [self._answer] if self._answer is not None else []

    def ask(self, *message: Any) -> None:
        _, number = message
        self._answer = self._actor.part.remote(number)

    def receive(self, timeout: float = 0) -> tuple[Any, ...] | None:
        """As `PoolWorker.receive`. The timeout is not heeded: `Staff.wait` waits."""
        if not self._news and self._answer is not None and _is_there(self._answer):
            self._take(self._got(self._answer))
            self._answer = None
        return self._news.popleft() if self._news else None

    def feel_pulse(self) -> None:
        """Take in the last sign of work, and ask for another."""
        if self._pulse is not None and _is_there(self._pulse):
            with suppress(EOFError):  # noticed with the answer, which is lost as well
                documents, failed, self.reading = self._got(self._pulse)
                self._count(documents, failed)
            self._pulse = None
        if self._pulse is None and self.ready:
            self._pulse = self._actor.pulse.remote()

    def cause_of_death(self) -> str:
        return self._cause

    def close(self) -> None:
        with suppress(ray.exceptions.RayError, ValueError):  # it is dead already, or all of Ray is
            ray.kill(self._actor, no_restart=True)

    def _got(self, reference: Any) -> tuple[Any, ...]:
        try:
            return tuple(ray.get(reference))
        except ray.exceptions.RayError as error:
            self._cause = type(error).__name__
            raise EOFError from None

    def _take(self, message: tuple[Any, ...]) -> None:
        if message[0] == "part":
            topic, outcome, documents, failed = message
            self._count(documents, failed)
            message = (topic, outcome)
        if message[0] == "ready":
            self.ready = True
        self._news.append(message)

    def _count(self, documents: int, failed: int) -> None:
        """Tell of the documents that were answered since the last time."""
        bad = max(0, failed - self._failed)
        for number in range(documents - self._documents):
            self._news.append(("document", number < bad))
        self._documents, self._failed = max(documents, self._documents), max(failed, self._failed)


def _is_there(reference: Any) -> bool:
    return bool(ray.wait([reference], timeout=0)[0])

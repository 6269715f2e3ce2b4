"""What an engine is: something that gets the parts of a plan done, each by a call of `run_part`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from longdoc.errors import LongDocError, PlanMismatchError
from longdoc.interruption import Interruption
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.job_report import JobReport
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.plan import JobConfig
from longdoc.jobs.work import OnDocument, Predictor
from longdoc.readers.base import ReadConfig

__all__ = ["Engine", "Enlisted", "JobWork", "PredictorSlot", "check_fingerprint"]


class PredictorSlot:
    """The predictor of this process, loaded when it is first needed and droppable to make room for a worker's."""

    def __init__(self, load: Callable[[], Predictor]) -> None:
        self.load = load
        self._predictor: Predictor | None = None

    def get(self) -> Predictor:
        """The predictor, loaded now if it is not."""
        if self._predictor is None:
            self._predictor = self.load()
        return self._predictor

    def drop(self) -> None:
        """Let go of the predictor; `get` loads it anew."""
        self._predictor = None


@dataclass(frozen=True)
class JobWork:
    """Everything an engine needs beside the parts.

    Attributes:
        plan, output, job: the plan, the job's folder and its settings.
        predictor: the predictor of this process.
        attempts: write-ahead counts, for engines that can lose a worker.
        stopping: becomes True when the job is asked to stop: finish what is in work and return.
        on_document: for progress.
    """

    plan: JobPlan
    output: Path
    job: JobConfig
    predictor: PredictorSlot
    attempts: Attempts
    stopping: Callable[[], bool]
    on_document: OnDocument


@dataclass(frozen=True)
class Enlisted:
    """What a process has that was started together with others to do one job, before it knows whether it leads.

    Attributes: the arguments of `run_job`, and how the process is asked to stop.
    """

    inputs: Sequence[str | Path]
    output: Path
    read: ReadConfig
    predictor: PredictorSlot
    interruption: Interruption


class Engine(ABC):
    """One for each run of a job."""

    @abstractmethod
    def run(self, work: JobWork, parts: Sequence[PartPlan]) -> Iterator[PartOutcome]:
        """Do parts in any order and yield their outcomes as they are committed; return early when stopping."""

    def follow(self, enlisted: Enlisted) -> JobReport | None:
        """In a process that does not lead: help until the job has ended, and give back the leader's report.

        None = this process leads: it plans, holds the lock, calls `run` and writes the manifest. Most engines have no
        other.
        """
        return None

    def dismiss(self, ending: JobReport | LongDocError) -> None:  # noqa: B027  most engines have nobody to tell
        """Called in the process that leads when the job has ended; `run` may never have been called."""


def check_fingerprint(predictor: Predictor, plan: JobPlan) -> None:
    """Refuse a predictor whose results may not stand beside those of the plan.

    Raises:
        PlanMismatchError: another model, setting or version.
    """
    if predictor.fingerprint != plan.settings["predictor"]:
        raise PlanMismatchError(
            "the predictor must be the one that the job was planned with, but its fingerprint differs. The model or "
            "how it predicts has changed: name another output folder."
        )

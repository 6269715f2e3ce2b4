"""What an engine is: something that gets the parts of a plan done, each by a call of `run_part`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from longdoc.errors import PlanMismatchError
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.plan import JobConfig
from longdoc.jobs.work import OnDocument, Predictor

__all__ = ["Engine", "JobWork", "PredictorSlot", "check_fingerprint"]


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


class Engine(Protocol):
    """Does parts in any order and yields their outcomes as they are committed; returns early when stopping."""

    def __call__(self, work: JobWork, parts: Sequence[PartPlan], /) -> Iterator[PartOutcome]: ...


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

"""A job from its inputs to its manifest: plan, keep what is done, do the rest, declare it complete.

The state of a job is its files. A part that exists and fits the plan is done; everything else is done again. So a job
can be killed at any moment and started again by the same command, and ends with the same bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from longdoc.errors import (
    ConfigurationError,
    InterruptedJobError,
    JobError,
    LongDocError,
    PlanMismatchError,
    on_one_line,
)
from longdoc.files import unlink
from longdoc.interruption import Interruption
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.engines import ENGINES
from longdoc.jobs.engines.base import Engine, Enlisted, JobWork, PredictorSlot
from longdoc.jobs.folder import check_job_folder, locked, open_job_folder, remove_leftovers
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.job_report import JobReport, job_report
from longdoc.jobs.manifest import write_manifest
from longdoc.jobs.names import MANIFEST_NAME
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.plan import JobConfig, note_configuration, plan_job
from longdoc.jobs.progress import DocumentCounter, Progress
from longdoc.jobs.resume import finished_outcomes, kept_parts
from longdoc.jobs.rows import PREDICTIONS, RowKind
from longdoc.jobs.sources import SourceWatch, list_sources
from longdoc.jobs.work import Predictor, run_part
from longdoc.readers import source_digest
from longdoc.readers.base import ReadConfig

__all__ = ["JobReport", "Progress", "run_job", "run_part"]

_log = logging.getLogger(__name__)


def run_job(
    inputs: Sequence[str | Path],
    output: str | Path,
    load: Callable[[], Predictor],
    read: ReadConfig | None = None,
    job: JobConfig | None = None,
    progress: Progress | None = None,
    *,
    fingerprint: str | None = None,
    configuration: str | None = None,
    rows: RowKind = PREDICTIONS,
) -> JobReport:
    """Answer every document of `inputs` exactly once, into the folder `output`.

    Run it again after a kill, and it goes on; run it again after its end, and it checks the files, writes nothing and
    returns. What an input holds that cannot be read to its end (a damaged archive) is answered as far as it goes, but
    such a job never gets its manifest: its report says so in `cut_sources` and has exit status 3.

    Args:
        load: gives the predictor; with several workers it is called in each and must be a function that can be sent
            to a process (at the top of a module, or a `functools.partial` of one).
        progress: for people; counts only.
        fingerprint: the predictor's, where the caller knows it without loading (else `load` is called for it).
        configuration: the resolved configuration as text, kept in `.work/` from the plan on.
        rows: what the rows of the parts hold.

    Raises:
        ConfigurationError: no such engine.
        PlanMismatchError: `output` belongs to other inputs, another model or other settings.
        DuplicateIdError: two documents have one id.
        DataError: inputs that cannot be used.
        CannotWriteError: disk full, read-only, no permission (exit status 74).
        InterruptedJobError: asked to stop by SIGINT or SIGTERM; finished parts are kept (exit status 75).
        JobError: another run is at work in `output`, or it is not the folder of a job.
    """
    read, job, output = read or ReadConfig(), job or JobConfig(), Path(output)
    engine = _engine(job)
    with Interruption() as interruption:
        try:
            check_job_folder(output)
            slot = PredictorSlot(load)
            report = engine.follow(Enlisted(inputs, output, read, slot, interruption))
            if report is not None:
                return report
            watch = SourceWatch(list_sources(inputs, read, output))  # what can be refused at once is, without a model
            known = fingerprint if fingerprint is not None else slot.get().fingerprint
            run = _Run(inputs, output, read, job, known, DocumentCounter(progress), watch, configuration, rows)
            report = run.find_finished()
            if report is None:
                with locked(open_job_folder(output)):
                    report = run.go_on(engine, slot, interruption)
            engine.dismiss(report)
            return report
        except LongDocError as error:
            engine.dismiss(error)
            raise
        except KeyboardInterrupt:
            stopped = InterruptedJobError(
                f"the job in {output} was interrupted at once. Finished parts are kept: run the same command again."
            )
            engine.dismiss(stopped)
            raise stopped from None
        except BaseException as error:
            engine.dismiss(JobError(f"the process that leads the job stopped with {type(error).__name__}."))
            raise


@dataclass(frozen=True)
class _Run:
    """One call of `run_job`, arguments resolved."""

    inputs: Sequence[str | Path]
    output: Path
    read: ReadConfig
    job: JobConfig
    fingerprint: str
    counter: DocumentCounter
    watch: SourceWatch
    configuration: str | None
    rows: RowKind

    def plan(self) -> JobPlan:
        return plan_job(self.inputs, self.read, self.job, self.fingerprint, self.output, self.configuration, self.rows)

    def find_finished(self) -> JobReport | None:
        """The report of a job that is complete and whole, found without writing anything."""
        if not (self.output / MANIFEST_NAME).exists():
            return None
        plan = self.plan()
        outcomes = finished_outcomes(self.output, plan)
        if outcomes is None:
            return None
        self.counter.start(plan.documents, outcomes.values())
        return job_report(self.job, plan, outcomes, written=0, found_complete=True)

    def go_on(self, engine: Engine, slot: PredictorSlot, interruption: Interruption) -> JobReport:
        """Do what is missing, under the lock, and declare the job complete."""
        work_folder = open_job_folder(self.output)
        remove_leftovers(work_folder)
        plan = self.plan()
        note_configuration(self.output, self.configuration)  # a run that goes on may have other workers
        outcomes = kept_parts(self.output, plan)
        unlink(self.output / MANIFEST_NAME)  # what it promised is not true any more
        self.counter.start(plan.documents, outcomes.values())
        kept = frozenset(outcomes)
        _log.info("%d parts of %d are done, %d documents in all", len(kept), len(plan.parts), plan.documents)
        missing = [part for part in plan.parts if part.number not in kept]
        attempts = Attempts.load(work_folder, (part.number for part in missing))
        interruption.patient = True
        work = JobWork(plan, self.output, self.job, slot, attempts, interruption.stopping, self.counter.document)
        for outcome in engine.run(work, missing):
            outcomes[outcome.number] = outcome
            self.counter.part(outcome)
            name = plan.part_name(plan.parts[outcome.number])
            _log.info("%s: %d documents, %d failed", name, outcome.documents, outcome.failed)
            if outcome.repeated_chunks:
                _log.info("%s: %d of %d chunks not encoded again", name, outcome.repeated_chunks, outcome.chunks)
        _check_complete(self.output, plan, outcomes, interruption)
        for number in self.watch.touched():
            if source_digest(plan.inputs[number]) != plan.sources[number].sha256:
                _disown(self.output, plan, number, written=outcomes.keys() - kept)
        remove_leftovers(work_folder)  # of workers that died
        if not plan.cut_sources:
            write_manifest(self.output, plan, outcomes)
        return job_report(self.job, plan, outcomes, written=len(outcomes) - len(kept))


def _engine(job: JobConfig) -> Engine:
    if job.engine not in ENGINES:
        raise ConfigurationError(f"`job.engine` must be one of {', '.join(ENGINES)}, but is {job.engine} instead.")
    return ENGINES[job.engine]()


def _disown(output: Path, plan: JobPlan, source: int, written: Set[int]) -> NoReturn:
    """A source changed while the job ran: what this run made of it may be of either version, so it must go."""
    doubtful = [part for part in plan.parts_of(source) if part.number in written]
    for part in doubtful:
        unlink(output / plan.part_name(part))
    name = on_one_line(plan.sources[source].name)
    raise PlanMismatchError(
        f"{name} has changed while the job ran, so {len(doubtful)} parts that this run made of it "
        "were removed. Put it back to go on, or start again in another folder."
    )


def _check_complete(output: Path, plan: JobPlan, outcomes: dict[int, PartOutcome], interruption: Interruption) -> None:
    if len(outcomes) == len(plan.parts):
        return
    if interruption.requested:
        raise InterruptedJobError(
            f"the job in {output} was interrupted: {len(outcomes)} of {len(plan.parts)} parts are done. Run the same "
            "command again to go on."
        )
    raise JobError(f"the engine must do every part, but did {len(outcomes)} of {len(plan.parts)}. Run the job again.")

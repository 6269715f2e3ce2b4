"""What a job would do, before it does it: everything is read, a little is predicted, and nothing is written."""

from __future__ import annotations

import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from longdoc.errors import DuplicateIdError, JobError, LongDocError, PlanMismatchError
from longdoc.files import check_folder_output
from longdoc.jobs.folder import check_job_folder
from longdoc.jobs.job_plan import JobPlan, say_cut
from longdoc.jobs.manifest import read_manifest
from longdoc.jobs.names import PLAN_NAME
from longdoc.jobs.plan import JobConfig, intended_plan, with_parts
from longdoc.jobs.rows import PREDICTIONS, JobResult, RowKind, to_parquet
from longdoc.jobs.same_job import compare_plans
from longdoc.jobs.sample import Probe, TextSample
from longdoc.jobs.sources import states_of
from longdoc.jobs.work import Predictor
from longdoc.readers.base import ReadConfig
from longdoc.types import DocumentFailure, Record

__all__ = ["Forecast", "forecast_job"]

CountChunks = Callable[[int], int]
"""Tokens of a document -> chunks that are read of it."""


@dataclass(frozen=True)
class Forecast:
    """What a job would do. Counts of inputs, documents, bytes and parts are exact; what is estimated says so.

    Attributes:
        inputs, input_bytes: files (or datasets) and what they take on the disk.
        documents: of the whole job, failures included.
        unreadable: documents that no reader can read, by reason.
        characters: of all documents together; `longest`: of the longest one.
        sampled: documents of which the rest is estimated.
        tokens, chunks: of all documents, estimated.
        parts, parts_done: of the job, and those that `output` has already.
        workers: processes.
        seconds: of predicting what is not done, estimated; None where nothing could be predicted.
        memory_bytes: of all processes together, estimated.
        output_bytes: of all parts, estimated.
        state: of the output folder, in words.
        sample_failures: documents of the sample that the model could not answer, by reason.
        refusals: why the job would not start.
        remarks: what else is wrong.
        exit_status: what the job is expected to end with.
    """

    inputs: int = 0
    input_bytes: int = 0
    documents: int = 0
    unreadable: dict[str, int] = field(default_factory=dict)
    characters: int = 0
    longest: int = 0
    sampled: int = 0
    tokens: int = 0
    chunks: int = 0
    parts: int = 0
    parts_done: int = 0
    workers: int = 1
    seconds: float | None = None
    memory_bytes: int = 0
    output_bytes: int = 0
    state: str = "new"
    sample_failures: dict[str, int] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    exit_status: int = 0


class _Census:
    """Counts what is read on the way to the parts."""

    def __init__(self) -> None:
        self.lengths = array("Q")  # 8 bytes a document
        self.unreadable: Counter[str] = Counter()
        self.sample = TextSample()

    def add(self, record: Record) -> None:
        document = record.document
        if isinstance(document, DocumentFailure):
            self.unreadable[document.reason] += 1
        else:
            self.lengths.append(len(document.text))
            self.sample.offer(document)


def forecast_job(
    inputs: Sequence[str | Path],
    output: str | Path,
    predictor: Predictor,
    count_chunks: CountChunks,
    read: ReadConfig | None = None,
    job: JobConfig | None = None,
    *,
    rows: RowKind = PREDICTIONS,
    clock: Callable[[], float] = time.perf_counter,
) -> Forecast:
    """Read all inputs, predict a sample of at most 32 documents for a few seconds, and tell what a job would do.

    Holds 8 bytes a document. Writes nothing.

    Raises:
        DataError: inputs that cannot be used.
    """
    read, job, output = read or ReadConfig(), job or JobConfig(), Path(output)
    refusals, census = list(_output_faults(output)), _Census()
    intended = intended_plan(inputs, read, job, predictor.fingerprint, output, rows)
    plan = intended
    try:
        plan = with_parts(intended, job, census.add)
    except DuplicateIdError as error:
        refusals.append(str(error))
    probe = Probe.run(predictor, census.sample, clock)
    done, state, mismatch = _state(output, intended)
    if mismatch:
        refusals.append(mismatch)
    tokens = [round(length * probe.tokens_per_character) for length in census.lengths]
    chunks = sum(map(count_chunks, tokens))
    total = len(census.lengths) + sum(census.unreadable.values())
    written = round(_bytes_a_row(probe.results, rows) * total)
    remarks = list(_remarks(plan, output, written))
    share = 1 - done / len(plan.parts) if plan.parts else 1.0
    speed = probe.chunks_per_second
    workers = min(job.workers, max(1, len(plan.parts) - done))
    failed = sum(census.unreadable.values()) > job.max_failures or plan.cut_sources
    return Forecast(
        inputs=len(plan.inputs),
        input_bytes=sum(state.st_size for source in plan.inputs for _, state in states_of(source) if state is not None),
        documents=total,
        unreadable=dict(sorted(census.unreadable.items())),
        characters=sum(census.lengths),
        longest=max(census.lengths, default=0),
        sampled=len(census.sample),
        tokens=sum(tokens),
        chunks=chunks,
        parts=len(plan.parts),
        parts_done=done,
        workers=workers,
        seconds=chunks * share / speed / workers if speed else None,
        memory_bytes=workers * (probe.peak_bytes + census.sample.bytes_a_character * max(census.lengths, default=0)),
        output_bytes=written,
        state=state,
        sample_failures=dict(sorted(probe.failures.items())),
        refusals=tuple(refusals),
        remarks=tuple(remarks),
        exit_status=2 if refusals else 3 if failed else 0,
    )


def _output_faults(output: Path) -> Iterator[str]:
    try:
        check_job_folder(output)
        check_folder_output(output, written=not (output / PLAN_NAME).exists())
    except LongDocError as error:
        yield str(error)


def _state(output: Path, intended: JobPlan) -> tuple[int, str, str]:
    """Parts that are there, the folder in words, and why the job does not belong into it."""
    if not (output / PLAN_NAME).is_file():
        return 0, "new", ""
    try:
        plan = JobPlan.read_back(output)
        compare_plans(plan, intended, output)
        done = sum((output / plan.part_name(part)).is_file() for part in plan.parts)
        complete = read_manifest(output) is not None
    except PlanMismatchError as error:
        return 0, "of another job", str(error)
    except JobError as error:
        return 0, "damaged", str(error)
    return done, "complete" if complete else f"unfinished, {done} of {len(plan.parts)} parts are there", ""


def _remarks(plan: JobPlan, output: Path, written: int) -> Iterator[str]:
    if plan.cut_sources:
        yield f"The job cannot become complete: {say_cut(plan.cut_sources)}."
    there = next(folder for folder in (output.absolute(), *output.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < 2 * written:
        yield f"The results may take {written:,} bytes, but only {free:,} are free in {there}. Make room."


def _bytes_a_row(results: Sequence[JobResult], rows: RowKind) -> float:
    if not results:
        return 0.0
    return len(to_parquet(results, "0" * 64, rows)) / len(results)

"""What a job will do, written down before it does anything: which documents are in which part.

A plan is a pure function of the inputs' bytes and of the settings that decide results.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from longdoc.errors import DuplicateIdError, on_one_line
from longdoc.files import write_bytes, write_text
from longdoc.jobs.folder import open_job_folder
from longdoc.jobs.identity import IdLedger, first_repetition
from longdoc.jobs.job_plan import JobPlan, PartPlan, PlannedSource
from longdoc.jobs.names import PLAN_NAME, configuration_file, work_folder
from longdoc.jobs.ray_settings import RayConfig
from longdoc.jobs.rows import PREDICTIONS, RowKind
from longdoc.jobs.same_job import compare_plans
from longdoc.jobs.sources import RollCall, list_sources, read_records
from longdoc.readers import source_digest
from longdoc.readers.base import ReadConfig, Source
from longdoc.schema import Config
from longdoc.types import Record
from longdoc.version import __version__

__all__ = [
    "JobConfig",
    "JobPlan",
    "PartPlan",
    "intended_plan",
    "note_configuration",
    "plan_job",
    "with_parts",
]

_log = logging.getLogger(__name__)

OnRecord = Callable[[Record], None]

# Libraries that decide what text comes out of a file or what bytes a part has; those that decide predictions are in
# the predictor's own fingerprint.
_VERSIONED = ("pyarrow", "charset-normalizer", "lxml", "pypdfium2")


class JobConfig(Config):
    """How a corpus is worked through."""

    engine: str = "local"
    """What runs the parts; see `longdoc.jobs.engines.ENGINES`. Does not change the results."""
    documents_per_part: int = Field(default=256, ge=1, le=1_000_000)
    """Documents in one output file; a kill costs at most the parts in work."""
    workers: int = Field(default=1, ge=1, le=1024)
    """Processes, each with a model of its own. Does not change the results."""
    max_failures: int = Field(default=0, ge=0)
    """More failed documents than this give exit status 3; the results are complete all the same."""
    evidence: bool = False
    """Write the passages that made each score."""
    stall_minutes: float = Field(default=60.0, gt=0)
    """Engines with processes that this one cannot watch end the job when none of them has shown a sign of work (a
    document answered, a second of the processor's time used) for so long."""
    max_attempts: int = Field(default=3, ge=1)
    """How often a document may kill its worker while it is run alone before it is written down as `worker_died`."""
    ray: RayConfig = RayConfig()
    """Where the engine `ray` has its workers."""


def plan_job(
    inputs: Sequence[str | Path],
    read: ReadConfig,
    job: JobConfig,
    predictor_fingerprint: str,
    output: Path,
    configuration: str | None = None,
    rows: RowKind = PREDICTIONS,
) -> JobPlan:
    """The plan of a job: the one in `output` if it has one and nothing has changed since, else a new one, durable.

    Reads every source once to digest it and, for a new plan, once more to count its documents; a third time only to
    name the places of a repeated id. Holds 8 bytes a document.

    Args:
        configuration: the resolved configuration as text. It is on the disk before a new plan is, so that it is there
            whenever a job is, and a job that was planned already is left as it is.
        rows: what the rows hold.

    Raises:
        PlanMismatchError: a source or a setting differs from the plan in `output`; the message names it.
        DuplicateIdError: two documents have one id; the message names both places.
        DataError: nothing to read, or a source without the configured columns.
        JobError: `output` is not a job's folder.
        CannotWriteError: the plan cannot be written.
    """
    planned = (output / PLAN_NAME).exists()
    old = JobPlan.read_back(output) if planned else None
    if old is None:
        open_job_folder(output)
    intended = intended_plan(inputs, read, job, predictor_fingerprint, output, rows)
    if old is not None:
        compare_plans(old, intended, output)
        return JobPlan(old.settings, old.sources, old.parts, intended.inputs, read)
    plan = with_parts(intended, job)
    note_configuration(output, configuration)
    write_bytes(output / PLAN_NAME, plan.to_bytes(), work_folder(output))
    return plan


def intended_plan(
    inputs: Sequence[str | Path],
    read: ReadConfig,
    job: JobConfig,
    predictor_fingerprint: str,
    output: Path,
    rows: RowKind = PREDICTIONS,
) -> JobPlan:
    """What a job would be planned as, without its parts. Digests every source and writes nothing."""
    found = list_sources(inputs, read, output)
    rows = rows.for_sources(source.name for source in found)
    settings = _settings(read, job, predictor_fingerprint) | dict(rows.settings)
    sources = tuple(PlannedSource(source.name, source_digest(source)) for source in found)
    return JobPlan(settings, sources, (), found, read)


def with_parts(plan: JobPlan, job: JobConfig, on_record: OnRecord | None = None) -> JobPlan:
    """An intended plan with its parts: reads every document once, and writes nothing.

    Args:
        on_record: called with each record.

    Raises:
        DuplicateIdError: two documents have one id.
        DataError: a source without the configured columns.
    """
    cut: set[int] = set()
    parts = tuple(_parts(plan.inputs, plan.read, job.documents_per_part, cut, on_record))
    sources = plan.sources
    if cut:
        _log.warning("%d of %d inputs cannot be read to the end: the job will not be complete", len(cut), len(sources))
        sources = tuple(dataclasses.replace(source, ends_early=number in cut) for number, source in enumerate(sources))
    return dataclasses.replace(plan, sources=sources, parts=parts)


def note_configuration(output: Path, configuration: str | None) -> None:
    """Write down what a run is made with, where that is not what the file says already.

    Raises:
        CannotWriteError: it cannot be written.
    """
    path = configuration_file(output)
    if configuration is not None and not (path.is_file() and path.read_bytes() == configuration.encode("utf-8")):
        write_text(path, configuration)


def _settings(read: ReadConfig, job: JobConfig, predictor_fingerprint: str) -> dict[str, Any]:
    settings = {
        "predictor": predictor_fingerprint,
        "job.documents_per_part": job.documents_per_part,
        "job.evidence": job.evidence,
    }
    settings |= {f"read.{key}": value for key, value in _flat(read.model_dump(mode="json"))}
    settings |= {f"version.{name}": _version(name) for name in _VERSIONED}
    return settings | {"version.longdoc": __version__}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _parts(
    sources: Sequence[Source], read: ReadConfig, size: int, cut: set[int], on_record: OnRecord | None
) -> Iterator[PartPlan]:
    """One pass over all records: where each part starts, how many records it has, and that no id occurs twice.

    Numbers of sources that end early are added to `cut`.
    """
    ledger = IdLedger()
    records = read_records(sources, read)
    for number in itertools.count():
        roll = RollCall()
        start = None
        for source, record in itertools.islice(records, size):
            start = start or (source, record.cursor)
            roll.add(record.document)
            ledger.add(record.document.id)
            if on_record is not None:
                on_record(record)
            if record.ends_early:
                cut.add(source)
        if start is None:
            break
        yield PartPlan(number, *start, roll.documents, roll.unreadable, roll.hexdigest())
    repeated = first_repetition(ledger.suspects(), lambda: _places(sources, read))
    if repeated is not None:
        raise DuplicateIdError(_repetition(*repeated))


def _places(sources: Sequence[Source], read: ReadConfig) -> Iterator[tuple[str, str]]:
    for _, record in read_records(sources, read):
        yield record.document.id, str(record.place)


def _repetition(first: str, second: str) -> str:
    first, second = on_one_line(first), on_one_line(second)
    if first == second:
        return f"ids must be unique in a job, but the document at {first} is read twice. Name its file only once."
    return (
        f"ids must be unique in a job, but the documents at {first} and {second} have the same id. Rename one, or map "
        "`read.fields.id` to a field that is unique."
    )

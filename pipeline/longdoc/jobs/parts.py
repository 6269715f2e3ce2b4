"""One part of a job's results: a Parquet file with one row a document, the same bytes whoever writes it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.errors import FAILURE_REASONS, JobError
from longdoc.files import write_bytes
from longdoc.jobs.identity import IdDigest
from longdoc.jobs.job_plan import JobPlan, PartPlan, check_schema_version
from longdoc.jobs.names import work_folder
from longdoc.jobs.row_kinds import rows_of
from longdoc.jobs.rows import (
    PARQUET_SCHEMA,
    PLAN_KEY,
    VERSION_KEY,
    JobResult,
    finite_or_failed,
    to_parquet,
)
from longdoc.types import DocumentFailure, DocumentPrediction

__all__ = ["PARQUET_SCHEMA", "PartOutcome", "check_and_read_part", "check_part", "read_part", "write_part"]


@dataclass(frozen=True)
class PartOutcome:
    """What the manifest says about one part.

    Attributes:
        number: of the part.
        sha256, bytes: of its file.
        documents, failed: its rows, and those with status `failed`.
        reasons: failed rows by reason.
        abstained: rows in which the model abstains, wholly or from some labels.
        chunks, repeated_chunks: that the model was asked for by whoever made the part, and those among them that had
            stood somewhere before and were not encoded again. 0 for a part that was found done: its file, which is the
            same either way, does not say.
        partly_textless: documents of which whoever made the part saw pages without text, which nobody has read. 0 for a
            part that was found done.
    """

    number: int
    sha256: str
    bytes: int
    documents: int
    failed: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    abstained: int = 0
    chunks: int = field(default=0, compare=False)
    repeated_chunks: int = field(default=0, compare=False)
    partly_textless: int = field(default=0, compare=False)


def write_part(output: Path, plan: JobPlan, part: PartPlan, results: Sequence[JobResult]) -> PartOutcome:
    """Write the results of a part under its final name, whole or not at all.

    Raises:
        JobError: the results are not those of the part's documents, one each, in plan order.
        CannotWriteError: the file cannot be written.
    """
    name = plan.part_name(part)
    if len(results) != part.documents:
        raise JobError(f"{name} must have {part.documents} results, but the predictor gave {len(results)}.")
    if _digest(result.id for result in results) != part.digest:
        raise JobError(f"{name} must have the results of its documents in plan order, but the ids differ.")
    kind = rows_of(plan.settings)
    results = [finite_or_failed(result, kind) for result in results]
    data = to_parquet(results, plan.fingerprint, kind)
    write_bytes(output / name, data, work_folder(output))
    reasons: Counter[str] = Counter(result.reason for result in results if isinstance(result, DocumentFailure))
    abstained = sum(isinstance(result, DocumentPrediction) and result.abstained for result in results)
    return _outcome(part, data, len(results), reasons, abstained)


def read_part(path: Path, schema: pa.Schema = PARQUET_SCHEMA) -> pa.Table:
    """The rows of a part as a table, page checksums verified.

    Args:
        schema: the columns that it must have.

    Raises:
        JobError: the file is damaged or of a newer longdoc.
    """
    return _to_table(path, _read_bytes(path), schema)


def check_part(output: Path, plan: JobPlan, part: PartPlan) -> PartOutcome:
    """Read a part and compare it with the plan.

    Raises:
        JobError: it is missing, damaged, of another job, or its ids are not those of the plan, in order.
    """
    outcome, _ = check_and_read_part(output, plan, part)
    return outcome


def check_and_read_part(output: Path, plan: JobPlan, part: PartPlan) -> tuple[PartOutcome, pa.Table]:
    """`check_part` for those who need the rows as well; the file is read once."""
    path = output / plan.part_name(part)
    data = _read_bytes(path)
    kind = rows_of(plan.settings)
    table = _to_table(path, data, kind.schema)
    if (table.schema.metadata or {}).get(PLAN_KEY) != plan.fingerprint.encode():
        raise JobError(f"{path} belongs to another job: it was not written for the plan beside it.")
    if table.num_rows != part.documents:
        raise JobError(f"{path} must have {part.documents} rows, but has {table.num_rows} instead.")
    if _digest(table.column("id").to_pylist()) != part.digest:
        raise JobError(f"{path} must have one row for each of its documents in plan order, but its ids differ.")
    statuses, causes = table.column("status").to_pylist(), table.column("reason").to_pylist()
    reasons: Counter[str] = Counter()
    for row, (status, reason) in enumerate(zip(statuses, causes, strict=True)):
        if (status, reason) != ("ok", None) and not (status == "failed" and reason in FAILURE_REASONS):
            raise JobError(f"{path} must have a reason for each failed row and for no other, but row {row} differs.")
        if reason is not None:
            reasons[reason] += 1
    abstained = table.column("detail").to_pylist().count(kind.abstained)
    return _outcome(part, data, table.num_rows, reasons, abstained), table


def _outcome(part: PartPlan, data: bytes, documents: int, reasons: Mapping[str, int], abstained: int) -> PartOutcome:
    return PartOutcome(
        number=part.number,
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        documents=documents,
        failed=sum(reasons.values()),
        reasons=dict(sorted(reasons.items())),
        abstained=abstained,
    )


def _digest(ids: Iterator[str] | Sequence[str]) -> str:
    digest = IdDigest()
    for identity in ids:
        digest.add(identity)
    return digest.hexdigest()


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise JobError(f"{path} is missing. Run the job again to write it.") from None
    except OSError as error:
        raise JobError(f"{path} cannot be read ({type(error).__name__}). Check its permissions.") from None


def _to_table(path: Path, data: bytes, schema: pa.Schema) -> pa.Table:
    try:
        # Without Arrow's threads: a process that ends while one of them is still about can abort (apache/arrow #34314).
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False, page_checksum_verification=True)
        table = file.read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise JobError(f"{path} is damaged ({type(error).__name__}). Run the job again to write it anew.") from None
    version = (table.schema.metadata or {}).get(VERSION_KEY, b"").decode("ascii", "replace")
    check_schema_version(path, int(version) if version.isdigit() else version)
    if not table.schema.equals(schema):
        raise JobError(f"{path} must have the columns of a part, but its columns differ. It was not written by a job.")
    return table

"""All results of a job as one file for people and spreadsheets, in input order, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.errors import JobError, UsageError
from longdoc.files import check_file_output, replacing
from longdoc.jobs.earlier_export import refuse_stranger
from longdoc.jobs.embedding_rows import EmbeddingRows
from longdoc.jobs.export_vectors import export_vectors
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.manifest import read_manifest, refuse_cut_sources
from longdoc.jobs.names import MANIFEST_NAME
from longdoc.jobs.parts import check_and_read_part
from longdoc.jobs.row_kinds import rows_of
from longdoc.jobs.rows import RowKind

__all__ = ["export_job"]


_NEEDS_QUOTES = re.compile('[,"\r\n\0]')


class _Writer(Protocol):
    def __init__(self, stream: IO[bytes], rows: RowKind) -> None: ...
    def add(self, table: pa.Table) -> None: ...
    def finish(self) -> None: ...


def export_job(output: str | Path, file: str | Path) -> int:
    """Write the rows of a complete job to `file`; the suffix says how. Returns the number of rows.

    A job of vectors can also be written as `.npy`: see `export_vectors`.

    Every part is checked against the manifest on the way. An earlier export is replaced once the new one is durable;
    any other file that is there is refused.

    Ids and labels stand in the file letter for letter, so that it can be joined with the data they came from. A
    spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula: open a CSV file of ids that strangers
    chose as text, not by a double click.

    Raises:
        UsageError: a suffix other than .jsonl, .csv and .parquet, a name that readers would take for a part, a folder,
            a file in a folder that does not exist, an input of the job, or a file that is there and is no export.
        JobError: the job is not complete, or a part is damaged.
        CannotWriteError: `file` cannot be written.
    """
    output, file = Path(output), Path(file)
    suffix, kinds = file.suffix.lower(), [*_WRITERS]
    plan = JobPlan.read_back(output)
    rows = rows_of(plan.settings)
    if isinstance(rows, EmbeddingRows):
        kinds.append(".npy")
    if suffix not in kinds:
        raise UsageError(f"`file` must end in {', '.join(kinds)}, but is {file.name} instead.")
    if file.name.startswith(("part-", "_")) and file.resolve().parent == output.resolve():
        raise UsageError(f"`file` must not look like one of the job's own files, but is {file.name}. Rename it.")
    check_file_output(file, "file")
    refuse_stranger(file, plan)
    if isinstance(rows, EmbeddingRows) and suffix == ".npy":
        return export_vectors(file, rows, _answered(output), _tables(output, plan))
    with replacing(file) as stream:
        return _write(_WRITERS[suffix](stream, rows), _tables(output, plan))


def _write(writer: _Writer, tables: Iterator[pa.Table]) -> int:
    rows = 0
    try:
        for table in tables:
            writer.add(table)
            rows += int(table.num_rows)
    finally:
        writer.finish()
    return rows


def _answered(output: Path) -> int:
    """Rows of a complete job that are no failures; 0 where `_tables` will say why there are none."""
    manifest = read_manifest(output)
    return 0 if manifest is None else int(manifest["documents"]) - int(manifest["failed"])


def _tables(output: Path, plan: JobPlan) -> Iterator[pa.Table]:
    manifest = read_manifest(output)
    if manifest is None:
        refuse_cut_sources(output, plan)
        raise JobError(f"{output} is not complete: it has no {MANIFEST_NAME}. Run the job again to go on, then export.")
    promised = {part["name"]: part["sha256"] for part in manifest["parts"]}
    for part in plan.parts:
        outcome, table = check_and_read_part(output, plan, part)
        name = plan.part_name(part)
        if outcome.sha256 != promised.get(name):
            raise JobError(f"{output / name} is not the file that {MANIFEST_NAME} names: its sha256 differs.")
        yield table.replace_schema_metadata(None)


class _JsonLines:
    """One object a line, keys as in the contract; `chosen` only where the task has it."""

    def __init__(self, stream: IO[bytes], rows: RowKind) -> None:
        self._stream, self._rows = stream, rows

    def add(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self._stream.write(_json(self._rows.shown(row)).encode("utf-8") + b"\n")

    def finish(self) -> None:
        pass


class _Csv:
    """A header and one line a document; columns that hold lists are JSON."""

    def __init__(self, stream: IO[bytes], rows: RowKind) -> None:
        self._stream, self._rows = stream, rows
        self._write(rows.schema.names)

    def add(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            self._write([_cell(value) for value in self._rows.shown(row).values()])

    def finish(self) -> None:
        pass

    def _write(self, cells: Sequence[str]) -> None:
        self._stream.write((",".join(map(_quoted, cells)) + "\n").encode("utf-8"))


class _Parquet:
    """The parts one after the other, a row group each."""

    def __init__(self, stream: IO[bytes], rows: RowKind) -> None:
        self._writer = pq.ParquetWriter(stream, rows.schema, compression="zstd", write_page_checksum=True)

    def add(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=table.num_rows)

    def finish(self) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # or its destructor would try once more, on a full disk and a closed file


_WRITERS: dict[str, type[_Writer]] = {".jsonl": _JsonLines, ".csv": _Csv, ".parquet": _Parquet}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return _json(value) if isinstance(value, list) else str(value)


def _quoted(cell: str) -> str:
    """A cell as RFC 4180 has it. Python's own writer leaves a lone return bare, and refuses a NUL before 3.11."""
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

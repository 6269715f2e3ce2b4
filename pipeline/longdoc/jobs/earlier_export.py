"""Whether a file that is there may be written over by an export: an earlier export may, nobody's data may."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.errors import UsageError
from longdoc.jobs.answer_rows import ANSWERS
from longdoc.jobs.embedding_rows import EmbeddingRows
from longdoc.jobs.export_vectors import ids_file
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.rows import PREDICTIONS

__all__ = ["refuse_stranger"]

_LONGEST_LINE = 1 << 26
"""Bytes of a first row that are looked at."""
_PIECE = 1 << 20


def refuse_stranger(file: Path, plan: JobPlan) -> None:
    """Refuse a file that is there and is an input of the job, or no earlier export of any job. Empty files may go.

    Args:
        file: its ending says what an export in it looks like.
        plan: of the job.

    Raises:
        UsageError: it is such a file.
    """
    if _is_there(file):
        if _is_input(file, plan):
            raise UsageError(f"`file` must not be an input of the job, but {file} is. Choose another name.")
        if not _looks_exported(file):
            raise UsageError(_refusal(file))
    if file.suffix.lower() == ".npy" and _is_there(ids := ids_file(file)) and not _is_list_of_ids(ids):
        raise UsageError(_refusal(ids))


def _refusal(file: Path) -> str:
    return f"`file` must be new or an earlier export, but {file} is there and is no export. Choose another name."


def _is_there(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _is_input(file: Path, plan: JobPlan) -> bool:
    """Plans hold no places, so an input is known by its name and its bytes."""
    digests = {source.sha256 for source in plan.sources if PurePosixPath(source.name).name == file.name}
    if not digests:
        return False
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest() in digests


def _looks_exported(file: Path) -> bool:
    try:
        return _LOOKS[file.suffix.lower()](file)
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return False


def _columns() -> list[list[str]]:
    return [list(rows.schema.names) for rows in (PREDICTIONS, ANSWERS, EmbeddingRows(1))]


def _first_line(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.readline(_LONGEST_LINE)


def _is_table(file: Path) -> bool:
    return _first_line(file) in [(",".join(names) + "\n").encode("ascii") for names in _columns()]


def _is_lines(file: Path) -> bool:
    row = json.loads(_first_line(file))
    return isinstance(row, dict) and _are_columns(list(row))


def _is_parquet(file: Path) -> bool:
    return _are_columns(pq.read_schema(file).names)


def _is_matrix(file: Path) -> bool:
    """A matrix has no names, so the file of its ids must be beside it."""
    with file.open("rb") as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            return False
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    return len(shape) == 2 and dtype.kind == "f" and ids_file(file).is_file()


def _is_list_of_ids(file: Path) -> bool:
    try:
        return isinstance(json.loads(_first_line(file)), str)
    except (OSError, ValueError, RecursionError):
        return False


def _are_columns(names: Sequence[str]) -> bool:
    return list(names) in _columns()


_LOOKS: dict[str, Callable[[Path], bool]] = {
    ".jsonl": _is_lines,
    ".csv": _is_table,
    ".parquet": _is_parquet,
    ".npy": _is_matrix,
}

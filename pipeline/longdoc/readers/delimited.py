"""CSV: a header line, then one record a row. Cells are strings and stay what they are, `NA` and `007` too."""

from __future__ import annotations

import csv
import io
import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longdoc.errors import DataError, DocumentError
from longdoc.readers.base import ReadConfig, Source, ended, failed
from longdoc.readers.csv_rows import Row, read_rows
from longdoc.readers.fields import RecordFields
from longdoc.readers.lines import LineFile, line_at
from longdoc.readers.opening import FileReader
from longdoc.readers.schema_check import check_columns
from longdoc.readers.strict_json import parse_json
from longdoc.types import Record

__all__ = ["CsvReader"]

_DELIMITERS = (",", ";", "\t", "|")


class CsvReader(FileReader):
    """One record a row; quotes as in RFC 4180. Blank lines are skipped unless there is only one column.

    `labels`, `spans` and `answers` are JSON inside their cells. Raises `DataError` for a header without the text
    column or with a column twice.
    """

    name = "CSV"
    suffixes: tuple[str, ...] = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
    has_rows = True

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        here = cursor
        try:
            with _long_cells_allowed():
                file = LineFile.probe(source, settings, guess=True)
                delimiter = settings.delimiter or _find_delimiter(file.sample, settings.fields.text)
                header = next(read_rows(file.lines(), delimiter, file.limit), None)
                if header is None:
                    return
                names = _header_names(header, source, settings)
                fields = RecordFields(source, settings, file.encoding.facts)
                here = max(cursor, header.after)
                for row in read_rows(file.lines(here), delimiter, file.limit, width=len(names)):
                    here = row.after
                    if row.fault is None:
                        yield fields.record(_values(row, names, settings), row.number, row.cursor)
                    else:
                        stop = ended if row.is_last else failed
                        yield stop(source, row.number, row.cursor, row.fault)
        except DataError:
            raise
        except Exception as error:
            yield ended(source, line_at(here), here, error)


def _header_names(header: Row, source: Source, settings: ReadConfig) -> list[str]:
    if header.fault is not None:
        raise header.fault
    names = [name.strip() for name in header.cells]
    check_columns(names, source, settings, from_text=True)
    return names


def _values(row: Row, names: list[str], settings: ReadConfig) -> dict[str, Any]:
    values: dict[str, Any] = dict(zip(names, row.cells, strict=True))
    mapped = settings.fields
    for name in (mapped.labels, mapped.spans, mapped.answers):
        if name is not None and name in values:
            values[name] = _parsed(values[name], name)
    if mapped.target in values:
        values[mapped.target] = _number(values[mapped.target])
    return values


def _parsed(cell: str, name: str) -> Any:
    """The JSON of a cell; the fault itself where it is none, since only those who need the field need to know."""
    if not cell.strip():
        return None
    try:
        return parse_json(cell, f"`{name}`")
    except DocumentError as error:
        return error


def _number(cell: str) -> Any:
    if not cell.strip():
        return None
    try:
        return float(cell.replace("_", "x"))  # Python reads 1_0 as ten
    except ValueError:
        return cell


def _find_delimiter(sample: str, text: str) -> str:
    """The one under which the header has the text column, or else the most columns; ties by the order of the list."""
    lines = list(itertools.islice(io.StringIO(sample, newline=""), 50))

    def columns(delimiter: str) -> tuple[bool, int]:
        try:
            names = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
        except csv.Error:
            names = []
        return text in (name.strip() for name in names), len(names)

    return max(_DELIMITERS, key=columns)


_limit_lock = threading.Lock()
_limit_users = 0
_limit_before = 0


@contextmanager
def _long_cells_allowed() -> Iterator[None]:
    """Lift the limit of 131,072 characters a cell, which is one setting of the whole process, while anyone reads."""
    global _limit_users, _limit_before
    with _limit_lock:
        if not _limit_users:
            _limit_before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        _limit_users += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users -= 1
            if not _limit_users:
                csv.field_size_limit(_limit_before)

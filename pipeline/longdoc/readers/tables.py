"""Tables that are in memory: data frames of pandas and polars, tables of Arrow, datasets. No library of theirs is
imported; what hands out Arrow's C stream is a table (https://arrow.apache.org/docs/format/CDataInterface).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from longdoc.errors import DataError, UsageError
from longdoc.readers.base import FieldMap, ReadConfig, Source
from longdoc.readers.field_names import listed
from longdoc.types import Document, DocumentFailure, Record

__all__ = ["ArrowTable", "is_table", "read_table", "table_documents"]

_SOURCE = Source(Path("table"), Path(), "table")
_ROWS = 1000
_DEFAULT = ReadConfig()


class ArrowTable(Protocol):
    """What can hand over its rows as Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


def is_table(value: Any) -> bool:
    """Whether this has rows and named columns: a data frame, an Arrow table or reader, a dataset; no single column."""
    if hasattr(value, "__arrow_c_stream__"):
        return not hasattr(value, "to_frame") and (hasattr(value, "columns") or hasattr(value, "schema"))
    return _is_dataset(value)


def _is_dataset(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("features", "with_format", "iter"))


def read_table(table: Any, settings: ReadConfig = _DEFAULT) -> Iterator[Record]:
    """The records of a table, row by row, as those of a Parquet file are read.

    A row without an id is called by its number, from 0, as a text of a list is.

    Raises:
        DataError: no text column, one that holds no strings, or a table that Arrow cannot take.
    """
    from longdoc.readers.columns import TableRecords  # Arrow: only tables need it

    schema, batches = _batches(table)
    records = TableRecords(schema, _SOURCE, settings)
    first = 0
    for batch in batches:
        for record in records.records(batch, first):
            document = record.document
            if document.id == str(record.place):
                record = dataclasses.replace(record, document=dataclasses.replace(document, id=str(record.cursor)))
            yield record
        first += batch.num_rows


def table_documents(table: Any, text_column: str | None = None) -> Iterator[Document | DocumentFailure]:
    """The documents of a table whose texts are in `text_column` (None: `text`), a bad row as a failure in its place.

    Raises:
        UsageError: there is no such column; at once, not with the first row.
        DataError: it holds no strings.
    """
    column = "text" if text_column is None else text_column
    names = _names(table)
    if names is not None and column not in names:
        raise UsageError(
            f"`text_column` must name a column of the table, but there is no `{column}`. It has "
            f"{listed(names, 10) or 'none'}."
        )
    taken = {name: None for name, meant in FieldMap() if name != "text" and meant == column}
    settings = ReadConfig(fields=FieldMap(text=column, **taken))
    return (record.document for record in read_table(table, settings))


def _names(table: Any) -> list[str] | None:
    """The columns of a table, None where only its rows can tell."""
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(getattr(table, "schema", None), "names", None)  # a method in polars
    if names is None or callable(names):
        names = getattr(table, "columns", None)
    return None if names is None else [str(name) for name in names]


def _batches(table: Any) -> tuple[Any, Iterator[Any]]:
    """Arrow's schema of a table, and its rows as record batches."""
    import pyarrow as pa

    try:
        if hasattr(table, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(table)
            return reader.schema, iter(reader)
        tables = iter(table.with_format("arrow").iter(_ROWS))
        first = next(tables, None)
    except Exception as error:  # its message may quote a cell
        raise DataError(
            f"the table must be one that Arrow can take, but that failed with {type(error).__name__}. Give each column "
            "values of one type."
        ) from None
    if table.features is not None:
        schema = table.features.arrow_schema  # names the classes of class labels
    else:
        schema = pa.schema([]) if first is None else first.schema
    rest = itertools.chain([] if first is None else [first], tables)
    return schema, (batch for part in rest for batch in part.to_batches())

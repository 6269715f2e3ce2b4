"""Results as a table: for data frames, SQL engines and files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from longdoc.jobs.answer_rows import ANSWERS
from longdoc.jobs.rows import PREDICTIONS, RowKind
from longdoc.types import DocumentResult

__all__ = ["to_table"]


def to_table(results: Iterable[DocumentResult]) -> pa.Table:
    """The results of `Pipeline.predict` or `stream` as a `pyarrow.Table`, a row each, in their order.

    Its columns are those of a job's files. `.to_pandas()` makes a data frame of it; polars, DuckDB and others take it
    as it is.
    """
    given = list(results)
    kind: RowKind = ANSWERS if any(getattr(result, "question", None) is not None for result in given) else PREDICTIONS
    rows = [kind.row(result) for result in given]
    columns = [pa.array([row[column.name] for row in rows], column.type) for column in kind.schema]
    return pa.Table.from_arrays(columns, schema=kind.schema)

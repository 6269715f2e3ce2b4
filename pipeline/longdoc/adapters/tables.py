"""Results as a table: for data frames, SQL engines and files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from longdoc.jobs.rows import PARQUET_SCHEMA, PREDICTIONS
from longdoc.types import DocumentResult

__all__ = ["to_table"]


def to_table(results: Iterable[DocumentResult]) -> pa.Table:
    """The results of `Pipeline.predict` or `stream` as a `pyarrow.Table`, a row each, in their order.

    Its columns are those of a job's files. `.to_pandas()` makes a data frame of it; polars, DuckDB and others take it
    as it is.
    """
    rows = [PREDICTIONS.row(result) for result in results]
    columns = [pa.array([row[column.name] for row in rows], column.type) for column in PARQUET_SCHEMA]
    return pa.Table.from_arrays(columns, schema=PARQUET_SCHEMA)

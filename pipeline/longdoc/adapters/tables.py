"""Results as a table: for data frames, SQL engines and files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from longdoc.jobs.row_kinds import rows_of
from longdoc.jobs.rows import PAGES_KEY
from longdoc.types import AnswerSpan, DocumentFailure, DocumentResult, EvidencePassage, ScoredSpan

__all__ = ["to_table"]


def to_table(results: Iterable[DocumentResult]) -> pa.Table:
    """The results of `Pipeline.predict` or `stream` as a `pyarrow.Table`, a row each, in their order.

    Its columns are those of a job's files. `.to_pandas()` makes a data frame of it; polars, DuckDB and others take it
    as it is.
    """
    given = list(results)
    asked = any(getattr(result, "question", None) is not None for result in given)
    kind = rows_of({"rows.kind": "answers" if asked else "predictions", PAGES_KEY: any(map(_has_pages, given))})
    rows = [kind.row(result) for result in given]
    columns = [pa.array([row[column.name] for row in rows], column.type) for column in kind.schema]
    return pa.Table.from_arrays(columns, schema=kind.schema)


def _has_pages(result: DocumentResult) -> bool:
    if isinstance(result, DocumentFailure):
        return False
    places: list[ScoredSpan | AnswerSpan | EvidencePassage] = [*result.spans, *result.answers, *(result.evidence or ())]
    return any(place.page is not None for place in places)

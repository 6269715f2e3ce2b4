"""The row of a document in a part: its columns, and the bytes of a table of them.

What a row holds is the job's kind of rows; here are what all kinds share and the rows of predictions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.jobs.job_plan import SCHEMA_VERSION
from longdoc.types import DocumentEmbedding, DocumentFailure, DocumentPrediction, DocumentResult

__all__ = [
    "ABSTAINED",
    "PAGED_PREDICTIONS",
    "PAGES_KEY",
    "PARQUET_SCHEMA",
    "PLAN_KEY",
    "PREDICTIONS",
    "VERSION_KEY",
    "JobResult",
    "PredictionRows",
    "RowKind",
    "failure_columns",
    "finite_or_failed",
    "has_pages",
    "paged_schema",
    "to_parquet",
    "without_missing_pages",
]

JobResult = DocumentResult | DocumentEmbedding
"""What a job's predictor may give for a document."""

_LABEL = pa.struct([("label", pa.string()), ("score", pa.float64()), ("chosen", pa.bool_())])
_SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("score", pa.float64())])
_PASSAGE = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("weight", pa.float64())])
_PAGES = [pa.field("page", pa.int64()), pa.field("last_page", pa.int64())]

PARQUET_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        ("reason", pa.string()),
        ("label", pa.string()),
        ("score", pa.float64()),
        pa.field("labels", pa.list_(_LABEL), nullable=False),
        ("value", pa.float64()),
        pa.field("spans", pa.list_(_SPAN), nullable=False),
        pa.field("n_tokens", pa.int64(), nullable=False),
        pa.field("n_chunks", pa.int64(), nullable=False),
        pa.field("tokens_read", pa.int64(), nullable=False),
        pa.field("unknown_share", pa.float64(), nullable=False),
        ("evidence", pa.list_(_PASSAGE)),
        ("stage", pa.string()),
        ("error", pa.string()),
        ("detail", pa.string()),
    ]
)
"""The row of a prediction. `stage`, `error` (an exception's class name) and `detail` say more about a failure; `detail`
also says where the model abstained."""

ABSTAINED = "abstained: the labels that cannot be excluded are not exactly one"
"""`detail` of a row whose `label` is null, or some of whose labels have no `chosen`, because the model abstains."""

PAGES_KEY = "rows.pages"
"""In the settings of a plan: whether the rows have columns for pages."""

VERSION_KEY, PLAN_KEY = b"longdoc.schema_version", b"longdoc.plan"


class RowKind(ABC):
    """What the rows of a job hold. Every kind has the columns `id`, `status` and `reason`.

    Attributes:
        schema: the columns.
        settings: what the plan says of the rows beside the model, by keys that begin with `rows.`; with them
            `row_kinds.rows_of` finds the kind again. Empty for predictions.
        abstained: `detail` of a row in which the model abstains.
    """

    schema: pa.Schema
    settings: Mapping[str, Any]
    abstained: str = ABSTAINED

    def for_sources(self, names: Iterable[str]) -> RowKind:
        """The kind of rows for inputs of these names: some formats have more to say."""
        return self

    @abstractmethod
    def row(self, result: Any) -> dict[str, Any]:
        """A result as a row, every column present."""

    @abstractmethod
    def numbers(self, result: Any) -> Iterable[float | None]:
        """All numbers of an answer that must be finite, as they are stored."""

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row as `longdoc export` writes it: plain values that JSON can hold."""
        return dict(row)


class PredictionRows(RowKind):
    """The rows of `longdoc predict`.

    Args:
        pages: whether spans and passages say on which pages they stand.
    """

    def __init__(self, pages: bool = False) -> None:
        self.schema = paged_schema(PARQUET_SCHEMA, ("spans", "evidence")) if pages else PARQUET_SCHEMA
        self.settings: Mapping[str, Any] = {PAGES_KEY: True} if pages else {}

    def for_sources(self, names: Iterable[str]) -> RowKind:
        return PAGED_PREDICTIONS if any(map(has_pages, names)) else self

    def row(self, result: DocumentPrediction | DocumentFailure) -> dict[str, Any]:
        extra = failure_columns(result)
        if isinstance(result, DocumentPrediction) and result.abstained:
            extra["detail"] = self.abstained
        return result.to_dict() | extra

    def numbers(self, result: DocumentPrediction) -> Iterable[float | None]:
        yield from (result.score, result.value, result.unknown_share)
        yield from (item.score for item in result.labels)
        yield from (span.score for span in result.spans)
        yield from (passage.weight for passage in result.evidence or ())

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        labels = [{key: value for key, value in item.items() if value is not None} for item in row["labels"]]
        return {**without_missing_pages(row), "labels": labels}


def has_pages(name: str) -> bool:
    """Whether the reader of an input of this name tells pages."""
    return name.lower().removesuffix(".gz").endswith(".pdf")


def paged_schema(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """The schema with `page` and `last_page` in the structs of these columns of lists, null where there are none."""
    for name in columns:
        place, column = schema.get_field_index(name), schema.field(name)
        struct = pa.struct([*column.type.value_type, *_PAGES])
        schema = schema.set(place, column.with_type(pa.list_(struct)))
    return schema


def without_missing_pages(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose places have pages only where the document has."""

    def shown(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{key: part for key, part in item.items() if part is not None or "page" not in key} for item in value]

    return {name: shown(value) for name, value in row.items()}


PREDICTIONS = PredictionRows()
PAGED_PREDICTIONS = PredictionRows(pages=True)


def failure_columns(result: JobResult) -> dict[str, str | None]:
    """What the columns `stage`, `error` and `detail` say of a result."""
    if isinstance(result, DocumentFailure):
        return {"stage": result.stage or None, "error": result.error or None, "detail": result.detail or None}
    return {"stage": None, "error": None, "detail": None}


def finite_or_failed(result: JobResult, kind: RowKind = PREDICTIONS) -> JobResult:
    """The result itself; a number in it that is not finite makes it a failure, never an answer."""
    if isinstance(result, DocumentFailure):
        return result
    if all(number is None or math.isfinite(number) for number in kind.numbers(result)):
        return result
    return DocumentFailure(
        id=result.id,
        reason="non_finite_output",
        stage="merge",
        detail="The answer holds a number that is not finite.",
        n_tokens=result.n_tokens,
        n_chunks=result.n_chunks,
        unknown_share=result.unknown_share,
    )


def to_parquet(results: Sequence[JobResult], plan_fingerprint: str, kind: RowKind = PREDICTIONS) -> bytes:
    """A Parquet file of one row group, and nothing in it that differs from run to run."""
    rows = [kind.row(result) for result in results]
    columns = [pa.array([row[column.name] for row in rows], column.type) for column in kind.schema]
    metadata = {VERSION_KEY: str(SCHEMA_VERSION), PLAN_KEY: plan_fingerprint}
    table = pa.Table.from_arrays(columns, schema=kind.schema.with_metadata(metadata))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=len(rows), compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue())

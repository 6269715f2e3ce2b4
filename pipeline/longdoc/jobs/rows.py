"""The row of a document in a part: the contract's columns, and the bytes of a table of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from longdoc.jobs.job_plan import SCHEMA_VERSION
from longdoc.types import DocumentFailure, DocumentPrediction, DocumentResult

__all__ = ["ABSTAINED", "PARQUET_SCHEMA", "PLAN_KEY", "VERSION_KEY", "finite_or_failed", "to_parquet"]

_LABEL = pa.struct([("label", pa.string()), ("score", pa.float64()), ("chosen", pa.bool_())])
_SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("score", pa.float64())])
_PASSAGE = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("weight", pa.float64())])

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

VERSION_KEY, PLAN_KEY = b"longdoc.schema_version", b"longdoc.plan"


def finite_or_failed(result: DocumentResult) -> DocumentResult:
    """The result itself; a number in it that is not finite makes it a failure, never an answer."""
    if isinstance(result, DocumentFailure) or _finite(result):
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


def to_parquet(results: Sequence[DocumentResult], plan_fingerprint: str) -> bytes:
    """A Parquet file of one row group, and nothing in it that differs from run to run."""
    rows = [_row(result) for result in results]
    columns = [pa.array([row[column.name] for row in rows], column.type) for column in PARQUET_SCHEMA]
    metadata = {VERSION_KEY: str(SCHEMA_VERSION), PLAN_KEY: plan_fingerprint}
    table = pa.Table.from_arrays(columns, schema=PARQUET_SCHEMA.with_metadata(metadata))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=len(rows), compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue())


def _row(result: DocumentResult) -> dict[str, Any]:
    extra: dict[str, str | None] = {"stage": None, "error": None, "detail": None}
    if isinstance(result, DocumentFailure):
        extra = {"stage": result.stage or None, "error": result.error or None, "detail": result.detail or None}
    elif result.abstained:
        extra["detail"] = ABSTAINED
    return result.to_dict() | extra


def _finite(result: DocumentPrediction) -> bool:
    numbers = [result.score, result.value, result.unknown_share, *(item.score for item in result.labels)]
    numbers += [span.score for span in result.spans] + [passage.weight for passage in result.evidence or ()]
    return all(number is None or math.isfinite(number) for number in numbers)

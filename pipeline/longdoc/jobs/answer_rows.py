"""The rows of `longdoc predict` with a model that answers questions: the question, the answer, and the best places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from longdoc.jobs.rows import PAGES_KEY, RowKind, failure_columns, has_pages, paged_schema, without_missing_pages
from longdoc.types import DocumentFailure, DocumentPrediction

__all__ = ["ANSWERS", "PAGED_ANSWERS", "UNSURE", "AnswerRows"]

UNSURE = "abstained: the best answer has less than `min_score`"
"""`detail` of a row whose `answer` is null because the model is not sure enough of the best one."""

_ANSWER = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("chunk", pa.int64()),
    ]
)


class AnswerRows(RowKind):
    """`answer` is null where the document has none; `answers` lists the best places whatever is given. Of a failure
    nothing is known but why."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("status", pa.string(), nullable=False),
            ("reason", pa.string()),
            ("question", pa.string()),
            ("answer", pa.string()),
            ("score", pa.float64()),
            pa.field("answers", pa.list_(_ANSWER), nullable=False),
            pa.field("n_tokens", pa.int64(), nullable=False),
            pa.field("n_chunks", pa.int64(), nullable=False),
            pa.field("tokens_read", pa.int64(), nullable=False),
            pa.field("unknown_share", pa.float64(), nullable=False),
            ("stage", pa.string()),
            ("error", pa.string()),
            ("detail", pa.string()),
        ]
    )
    settings: Mapping[str, Any] = {"rows.kind": "answers"}
    abstained = UNSURE

    def __init__(self, pages: bool = False) -> None:
        if pages:
            self.schema = paged_schema(self.schema, ("answers",))
            self.settings = {**self.settings, PAGES_KEY: True}

    def for_sources(self, names: Iterable[str]) -> RowKind:
        return PAGED_ANSWERS if any(map(has_pages, names)) else self

    def row(self, result: DocumentPrediction | DocumentFailure) -> dict[str, Any]:
        said = {"question": None, "answer": None, "answers": []} | result.to_dict() | failure_columns(result)
        if isinstance(result, DocumentPrediction) and result.abstained:
            said["detail"] = self.abstained
        return {name: said[name] for name in self.schema.names}

    def numbers(self, result: DocumentPrediction) -> Iterable[float | None]:
        yield from (result.score, result.unknown_share)
        yield from (answer.score for answer in result.answers)

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return without_missing_pages(row)


ANSWERS = AnswerRows()
PAGED_ANSWERS = AnswerRows(pages=True)

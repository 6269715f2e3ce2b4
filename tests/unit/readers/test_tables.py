"""Tables in memory: every library's rows are the same documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from longdoc.errors import DataError, DuplicateIdError, UsageError
from longdoc.readers import ReadConfig, is_table, load_labelled_table, table_documents
from longdoc.readers.tables import read_table
from longdoc.types import Document, DocumentFailure

COLUMNS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "text": ["one", "zwei Größen", "三"],
    "label": ["x", "y", "x"],
    "pages": [1, 2, 3],
}


class OnlyStream:
    """What polars, DuckDB and others have in common."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.columns = table.column_names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


MAKE: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, a slice of it": lambda columns: pd.DataFrame(columns).sort_values("id", ascending=False)[::-1],
    "arrow": pa.table,
    "arrow reader": lambda columns: pa.table(columns).to_reader(),
    "arrow, in chunks": lambda columns: pa.concat_tables([pa.table(columns)[:1], pa.table(columns)[1:]]),
    "stream": lambda columns: OnlyStream(pa.table(columns)),
    "string views": lambda columns: OnlyStream(
        pa.table({n: pa.array(c, pa.string_view()) if n == "text" else c for n, c in columns.items()})
    ),
    "dataset": datasets.Dataset.from_dict,
    "dataset, chosen rows": lambda columns: datasets.Dataset.from_dict(
        {name: values[::-1] for name, values in columns.items()}
    ).select(range(len(columns["id"]))[::-1]),
    "iterable dataset": lambda columns: datasets.Dataset.from_dict(columns).to_iterable_dataset(),
}


@pytest.mark.parametrize("kind", MAKE)
def test_the_rows_of_every_library_are_the_same_documents(kind: str) -> None:
    table = MAKE[kind](COLUMNS)
    assert is_table(table)
    found = [record.document for record in read_table(table)]
    assert all(isinstance(document, Document) for document in found)
    assert [(d.id, d.text, d.label, d.meta["pages"]) for d in found] == [  # type: ignore[union-attr]
        ("a", "one", "x", 1), ("b", "zwei Größen", "y", 2), ("c", "三", "x", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [["a"], "a", pd.Series(["a"]), pa.chunked_array([["a"]]), pa.array(["a"]), {"text": ["a"]}, 3, iter(["a"])],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_table(value: Any) -> None:
    assert not is_table(value)


@pytest.mark.parametrize("kind", MAKE)
def test_another_column_may_hold_the_texts_and_rows_without_ids_are_numbered(kind: str) -> None:
    table = MAKE[kind]({"label": ["first", "second"], "id": [None, "named"]})
    found = list(table_documents(table, "label"))
    assert [(d.id, d.text) for d in found] == [("0", "first"), ("named", "second")]  # type: ignore[union-attr]


def test_rows_are_numbered_through_all_batches() -> None:
    table = pa.concat_tables([pa.table({"text": [str(n)] * 300}) for n in range(5)])
    assert [d.id for d in table_documents(table)] == [str(n) for n in range(1500)]


def test_a_row_without_a_text_is_a_failure_in_its_place() -> None:
    found = list(table_documents(pd.DataFrame({"text": ["a", None, "c"]})))
    assert [(d.id, type(d)) for d in found] == [("0", Document), ("1", DocumentFailure), ("2", Document)]


@pytest.mark.parametrize("kind", list(MAKE))
def test_a_column_that_is_not_there_is_said_at_once(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        table_documents(MAKE[kind](COLUMNS), "body")
    assert str(caught.value) == (
        "`text_column` must name a column of the table, but there is no `body`. It has `id`, `text`, `label`, `pages`."
    )


def test_class_labels_have_their_names() -> None:
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    table = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features=features)
    assert [document.label for document in load_labelled_table(table)] == ["yes", "no"]


def test_labels_lists_and_numbers() -> None:
    rows = [{"body": "a", "codes": ["x", "y"], "price": 2.5}, {"body": "b", "codes": [], "price": 3.0}]
    settings = ReadConfig(fields={"text": "body", "labels": "codes", "target": "price"})
    for table in (pd.DataFrame(rows), pa.Table.from_pylist(rows), datasets.Dataset.from_list(rows)):
        found = load_labelled_table(table, settings)
        assert [(d.labels, d.target) for d in found] == [(("x", "y"), 2.5), ((), 3.0)]


def test_labelled_rows_are_read_strictly() -> None:
    with pytest.raises(DataError, match=r"1 of 2 documents cannot be used.*\n  table:2 \(it has no label\)"):
        load_labelled_table(pd.DataFrame({"text": ["a", "b"], "label": ["x", None]}))
    with pytest.raises(DuplicateIdError):
        load_labelled_table(pd.DataFrame({"id": ["1", "1"], "text": ["a", "b"], "label": ["x", "y"]}))


def test_a_column_of_mixed_values_shows_no_value() -> None:
    with pytest.raises(DataError) as caught:
        list(table_documents(pd.DataFrame({"text": ["secret words", 3, b"x"]}, dtype=object)))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert str(caught.value).startswith("the table must be one that Arrow can take, but that failed with Arrow")

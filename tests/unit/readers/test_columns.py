"""Tables that Arrow reads: types of columns, class labels, bad rows, in all three containers."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longdoc.errors import DataError
from longdoc.types import DocumentFailure, LabelledSpan
from reader_kit import documents_of, failed_lines, failures_of, records_of


def as_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "in.parquet", row_group_size=2)
    return folder / "in.parquet"


def as_ipc_file(table: pa.Table, folder: Path) -> Path:
    with pa.OSFile(str(folder / "in.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return folder / "in.arrow"


def as_ipc_stream(table: pa.Table, folder: Path) -> Path:
    with pa.OSFile(str(folder / "in.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return folder / "in.arrow"


CONTAINERS = [as_parquet, as_ipc_file, as_ipc_stream]
pytestmark = pytest.mark.parametrize("container", CONTAINERS)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
        *(pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string())),
    ],
    ids=str,
)
def test_texts_of_every_string_type(tmp_path: Path, container: Any, kind: pa.DataType) -> None:
    texts = ["same", "same", "für 😀", "", None, "last"]
    plain = pa.array(texts, pa.string())
    column = plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)
    records = records_of(container(pa.table({"id": list("abcdef"), "text": column}), tmp_path))
    assert [document.text for document in documents_of(records)] == ["same", "same", "für 😀", "", "last"]
    assert failed_lines(records) == [5]
    assert failures_of(records)[0].id == "e"
    assert failures_of(records)[0].detail == f"{records[4].place}: `text` must be a string, but is null instead."


def test_a_text_that_is_no_utf8_is_one_failure(tmp_path: Path, container: Any) -> None:
    raw = pa.array([b"gr\xc3\xbcn", b"gr\xfcn", b"x"], pa.binary())
    for column in (raw, pa.StringArray.from_buffers(3, *raw.buffers()[1:])):
        records = records_of(container(pa.table({"text": column}), tmp_path))
        assert [document.text for document in documents_of(records)] == ["grün", "x"]
        (failure,) = failures_of(records)
        assert (failure.reason, failure.detail) == ("decode_error", "`text` is not valid UTF-8 at byte 2.")
        assert failed_lines(records) == [2]


def test_every_field_finds_its_place(tmp_path: Path, container: Any) -> None:
    table = pa.table(
        {
            "id": [7, None],
            "text": ["Ada came.", "x"],
            "label": [3, None],
            "labels": [["b", "a"], None],
            "target": [2.5, None],
            "spans": [[{"start": 0, "end": 3, "label": "person"}], []],
            "language": ["en", None],
            "day": [datetime.date(2024, 1, 2), None],
            "time": pa.array([1, None], pa.timestamp("ns")),
            "price": [decimal.Decimal("1.50"), None],
            "note": ["n", None],
            "half": pa.array([np.float16(0.5), None], pa.float16()),
            "vector": [[1.0, 2.0], None],
            "raw": [b"\xff", None],
        }
    )
    first, second = documents_of(records_of(container(table, tmp_path)))
    assert (first.id, first.label, first.labels, first.target, first.language) == ("7", "3", ("b", "a"), 2.5, "en")
    assert first.spans == (LabelledSpan(0, 3, "person"),)
    meta = dict(first.meta)
    assert {key: meta[key] for key in ("day", "time", "price", "note", "half")} == {
        **{"day": "2024-01-02", "time": "1970-01-01 00:00:00.000000001", "price": "1.50", "note": "n", "half": 0.5}
    }
    assert not {"vector", "raw"} & set(meta)
    assert second.id.endswith(":2")
    assert (second.label, second.labels, second.target, second.spans) == (None, None, None, ())


def test_class_labels_become_their_names(tmp_path: Path, container: Any) -> None:
    from datasets import ClassLabel, Features, List, Value

    kinds = ClassLabel(names=["neg", "pos"])
    features = Features(
        {
            "text": Value("string"),
            "label": kinds,
            "labels": List(kinds),
            "spans": List({"start": Value("int64"), "end": Value("int64"), "label": kinds}),
            "other": kinds,
        }
    )
    columns = {
        "text": ["a", "b", "c"],
        "label": [1, -1, None],
        "labels": [[1, 0], [], None],
        "spans": [[{"start": 0, "end": 1, "label": 0}], [], None],
        "other": [1, 0, 1],
    }
    documents = documents_of(records_of(container(pa.table(columns, schema=features.arrow_schema), tmp_path)))
    assert [document.label for document in documents] == ["pos", None, None]
    assert [document.labels for document in documents] == [("pos", "neg"), (), None]
    assert [document.spans for document in documents] == [(LabelledSpan(0, 1, "neg"),), (), None]
    assert [document.meta["other"] for document in documents] == [1, 0, 1]


def test_a_class_number_without_a_name_leaves_the_text_without_a_label(tmp_path: Path, container: Any) -> None:
    from datasets import ClassLabel, Features, Value

    schema = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])}).arrow_schema
    records = records_of(container(pa.table({"text": ["a", "b"], "label": [2, 1]}, schema=schema), tmp_path))
    assert [record.gold_fault for record in records] == ["`label` must be a class number below 2, but is not.", ""]
    assert [document.label for document in documents_of(records)] == [None, "pos"]


@pytest.mark.parametrize(
    "metadata", [b"no json", b"[]", b'{"info": {"features": []}}', b'{"info": {"features": {"label": 3}}}']
)
def test_odd_metadata_are_ignored(tmp_path: Path, container: Any, metadata: bytes) -> None:
    table = pa.table({"text": ["a"], "label": [1]}).replace_schema_metadata({b"huggingface": metadata})
    (document,) = documents_of(records_of(container(table, tmp_path)))
    assert document.label == "1"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pa.table({"doc": ["a"], "body (raw)": ["x"]}),
            "in.{} has no column `text`. Columns found: `doc` and 1 more column whose name is not shown, since it "
            "may be text. "
            "Name the column that holds the documents in `read.fields.text`.",
        ),
        (
            pa.table({"text": [1]}),
            "The column `text` of in.{} must hold strings, but has the type int64 instead. "
            "Name the column that holds the documents in `read.fields.text`.",
        ),
        (
            pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]),
            "The column `text` occurs twice in in.{}. Rename one of the two, so that it is clear which one is meant.",
        ),
    ],
    ids=["missing", "numbers", "twice"],
)
def test_a_table_without_a_text_column_is_refused(
    tmp_path: Path, container: Any, table: pa.Table, message: str
) -> None:
    path = container(table, tmp_path)
    with pytest.raises(DataError) as refused:
        records_of(path)
    assert str(refused.value) == message.format(path.suffix[1:])


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.7, 0.98])
def test_a_cut_file_ends_in_one_failure(tmp_path: Path, container: Any, keep: float) -> None:
    table = pa.table({"id": [f"i{n}" for n in range(50)], "text": [f"text {n} " * 100 for n in range(50)]})
    path = container(table, tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    *before, last = records_of(path)
    assert [document.id for document in documents_of(before)] == [f"i{n}" for n in range(len(before))]
    (failure,) = failures_of([last])
    assert (failure.id, failure.reason) == (f"{path.name}:{len(before) + 1}", "unreadable")


def test_only_the_text_and_the_id_of_a_row_must_be_readable(tmp_path: Path, container: Any) -> None:
    bad = pa.array([b"\xff", b"a"], pa.binary()).view(pa.string())
    table = pa.table({"id": ["P1", "P2"], "text": ["x", "y"], "label": bad, "note": bad})
    records = records_of(container(table, tmp_path))
    assert [(document.id, document.label) for document in documents_of(records)] == [("P1", None), ("P2", "a")]
    assert [record.gold_fault for record in records] == ["`label` is not valid UTF-8 at byte 0.", ""]
    assert [document.meta.get("note") for document in documents_of(records)] == [None, "a"]
    (failure, _) = (record.document for record in records_of(container(table.set_column(1, "text", bad), tmp_path)))
    assert isinstance(failure, DocumentFailure)
    assert (failure.id, failure.reason) == ("P1", "decode_error")
    assert failure.detail == f"{records[0].place}: `text` is not valid UTF-8 at byte 0."

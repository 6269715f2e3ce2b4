"""JSON Lines."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from longdoc.types import Document, LabelledSpan
from reader_kit import QUICK, documents_of, failed_lines, failures_of, records_of, write

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def jsonl(*values: Any, ascii_only: bool = True) -> str:
    return "".join(json.dumps(value, ensure_ascii=ascii_only) + "\n" for value in values)


@QUICK
@given(st.lists(ANY_TEXT, max_size=6), st.booleans())
def test_texts_come_back_whatever_they_hold(texts: list[str], ascii_only: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        content = jsonl(*({"id": f"i{n}", "text": text} for n, text in enumerate(texts)), ascii_only=ascii_only)
        records = records_of(write(Path(folder) / "in.jsonl", content))
    assert [document.text for document in documents_of(records)] == texts
    assert len(records) == len(texts)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_compression_changes_nothing(tmp_path: Path, compress: Any) -> None:
    suffix = {bytes: "", gzip.compress: ".gz", zstandard.compress: ".zst"}[compress]
    content = jsonl({"id": "a", "text": "für", "label": 3}, {"text": "x"})
    first, second = documents_of(records_of(write(tmp_path / f"in.jsonl{suffix}", compress(content.encode()))))
    assert (first.id, first.text, first.label) == ("a", "für", "3")
    assert (second.id, second.text, second.label) == (f"in.jsonl{suffix}:2", "x", None)


def test_every_field_finds_its_place(tmp_path: Path) -> None:
    record = {
        **{"doc": 12, "body": "Ada Poe came.", "kind": "letter", "topics": ["b", "a"], "score": 3, "lang": "en"},
        **{"marks": [{"start": 0, "end": 7, "label": "person"}], "source": "archive", "pages": 2, "id": "other"},
    }
    fields = {
        **{"id": "doc", "text": "body", "label": "kind", "labels": "topics", "target": "score", "spans": "marks"},
        "language": "lang",
    }
    (document,) = documents_of(records_of(write(tmp_path / "in.jsonl", jsonl(record)), fields=fields))
    assert (document.id, document.text, document.label, document.labels) == (
        "12",
        "Ada Poe came.",
        "letter",
        ("b", "a"),
    )
    assert (document.target, document.language) == (3.0, "en")
    assert document.spans == (LabelledSpan(0, 7, "person"),)
    carried = {"source": "archive", "pages": 2, "id": "other"}
    assert dict(document.meta) == {**carried, "encoding": "utf-8", "encoding_source": "strict"}


def test_fields_that_are_mapped_to_nothing_are_never_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", jsonl({"text": "t", "label": {"odd": 1}, "spans": "odd"}))
    (document,) = documents_of(records_of(path, fields={"label": None, "spans": None}))
    assert (document.label, document.spans) == (None, None)


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ({"name": "a"}, "The record has no field `text`. Name the right one in `read.fields.text`."),
        ({"text": None}, "`text` must be a string, but is null instead."),
        ({"text": 12.5}, "`text` must be a string, but is a number instead."),
        ({"text": ["x"]}, "`text` must be a string, but is a list instead."),
        ({"text": {"x": 1}}, "`text` must be a string, but is an object instead."),
        ({"text": "x", "id": ["y"]}, "`id` must be a string or an integer, but is a list instead."),
        ("x", "The line must hold an object, but holds another value instead."),
    ],
)
def test_a_bad_record_is_a_failure_in_its_place(tmp_path: Path, value: Any, detail: str) -> None:
    records = records_of(write(tmp_path / "in.jsonl", jsonl({"text": "before"}, value, {"text": "after"})))
    assert [document.text for document in documents_of(records)] == ["before", "after"]
    (failure,) = failures_of(records)
    assert (failure.id, failure.reason, failure.stage, failure.detail) == ("in.jsonl:2", "unreadable", "read", detail)


def test_texts_of_nothing_or_blanks_are_documents(tmp_path: Path) -> None:
    records = records_of(write(tmp_path / "in.jsonl", jsonl({"text": ""}, {"text": " \n\t"})))
    assert [document.text for document in documents_of(records)] == ["", " \n\t"]


def test_the_limit_is_on_the_text_not_on_the_line(tmp_path: Path) -> None:
    values = [{"text": "ü" * 50, "note": "n" * 500}, {"text": "ü" * 51}, {"text": "x" * 101}, {"text": "x" * 100}]
    records = records_of(write(tmp_path / "in.jsonl", jsonl(*values)), max_bytes=100)
    assert failed_lines(records) == [2, 3]
    assert {failure.detail for failure in failures_of(records)} == {
        "The text has more than 100 bytes. Raise `read.max_bytes` to read it."
    }


def test_a_line_that_is_no_utf8_is_a_failure_unless_an_encoding_is_given(tmp_path: Path) -> None:
    content = b'{"text": "f\xfcr"}\n{"text": "plain"}\n'
    path = write(tmp_path / "in.jsonl", content)
    records = records_of(path)
    assert [document.text for document in documents_of(records)] == ["plain"]
    assert [(failure.reason, failure.detail) for failure in failures_of(records)] == [
        (
            "decode_error",
            "Line 1 does not fit the encoding utf-8 at position 11. "
            "Set `read.encoding`, for example to `cp1252`, if you know it.",
        )
    ]
    first, second = documents_of(records_of(path, encoding="cp1252"))
    assert (first.text, second.text) == ("für", "plain")
    assert first.meta["encoding"] == "cp1252"


def test_after_the_damage_of_an_archive_comes_one_failure(tmp_path: Path) -> None:
    content = jsonl(*({"id": f"i{n}", "text": f"text {n} " * 50} for n in range(3000))).encode()
    data = gzip.compress(content)
    records = records_of(write(tmp_path / "in.jsonl.gz", data[: len(data) * 2 // 3]))
    *documents, last = records
    assert [record.place.line for record in records] == list(range(1, len(records) + 1))
    assert [document.id for document in documents_of(documents)] == [f"i{n}" for n in range(len(documents))]
    assert len(documents) > 1000
    assert [failure.error for failure in failures_of([last])] == ["EOFError"]


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ({"label": 1.0}, "`label` must be a string or an integer, but is a number instead."),
        ({"label": float("nan")}, "`label` must be a string or an integer, but is a number instead."),
        ({"labels": "a"}, "`labels` must be a list of strings, but is a string instead."),
        ({"target": "left knee"}, "`target` must be a number, but is a string instead."),
        ({"target": float("nan")}, "`target` must be a finite number, but is not."),
        ({"spans": [[0, 1, "x"]]}, "`spans[0]` must be an object, but is a list instead."),
        (
            {"spans": [{"start": 0, "end": 9, "label": "y"}]},
            "`spans[0]` must satisfy 0 <= start < end <= 5, but is (0, 9) instead.",
        ),
        (
            {"label": [], "target": "x"},
            "`label` must be a string or an integer, but is a list instead. "
            "`target` must be a number, but is a string instead.",
        ),
    ],
)
def test_prediction_gets_the_text_whatever_is_wrong_with_its_label(tmp_path: Path, gold: Any, fault: str) -> None:
    (record,) = records_of(write(tmp_path / "in.jsonl", jsonl({"id": "P1", "text": "fever", **gold})))
    assert isinstance(record.document, Document)
    assert (record.document.id, record.document.text) == ("P1", "fever")
    assert [getattr(record.document, name) for name in ("label", "labels", "target", "spans")] == [None] * 4
    assert (record.gold_fault, record.ends_early) == (fault, False)


def test_a_failure_keeps_the_id_of_its_record_and_names_the_place(tmp_path: Path) -> None:
    rows = [{"id": "P1", "text": None}, {"id": 7}, {"text": 1, "id": ""}, {"id": {"odd": 1}, "text": "x"}]
    records = records_of(write(tmp_path / "in.jsonl", jsonl(*rows)))
    assert [(failure.id, failure.detail) for failure in failures_of(records)] == [
        ("P1", "in.jsonl:1: `text` must be a string, but is null instead."),
        ("7", "in.jsonl:2: The record has no field `text`. Name the right one in `read.fields.text`."),
        ("in.jsonl:3", "`text` must be a string, but is an integer instead."),
        ("in.jsonl:4", "`id` must be a string or an integer, but is an object instead."),
    ]


@pytest.mark.parametrize("name", ["in.jsonl.gz", "in.jsonl.zst"])
@pytest.mark.parametrize("kept", [1, 0.4, 0.9, 1.0])
def test_a_compressed_file_that_is_cut_ends_early(tmp_path: Path, name: str, kept: float) -> None:
    """`kept`: so many bytes, or this share of all but the last."""
    text = jsonl(*({"id": str(number), "text": f"{number * 7919 % 1000003} " * 5} for number in range(400))).encode()
    data = gzip.compress(text) if name.endswith(".gz") else zstandard.compress(text)
    size = kept if isinstance(kept, int) else int(kept * (len(data) - 1))
    records = records_of(write(tmp_path / name, data[:size]))
    assert [record.ends_early for record in records] == [False] * (len(records) - 1) + [True]
    assert [document.id for document in documents_of(records)] == [str(number) for number in range(len(records) - 1)]


def test_bad_lines_do_not_end_a_file(tmp_path: Path) -> None:
    records = records_of(write(tmp_path / "in.jsonl", b'{"text": "a"}\n{broken\n\xff\n{"text": "b"}\n{"text": "to'))
    assert failed_lines(records) == [2, 3, 5]
    assert not any(record.ends_early for record in records)

"""Bug reports from the field, each with inputs of our own and the right values."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path

import pytest

from longdoc.errors import DataError
from longdoc.readers import load_labelled
from reader_kit import documents_of, failed_lines, failures_of, records_of, write

BOM = b"\xef\xbb\xbf"


def line(**fields: object) -> str:
    return json.dumps(fields)


def test_b070_faults_are_named_by_physical_line_and_good_lines_go_on(tmp_path: Path) -> None:
    first = line(id="a", text="alpha", label="x")
    content = f'{first}\n\n{{"id": "b", "te\n{line(id="c", text="gamma")}\n["secret"]\n{line(id="d", text="delta")}'
    path = write(tmp_path / "in.jsonl", content)
    records = records_of(path)
    assert [(document.id, document.text) for document in documents_of(records)] == [
        ("a", "alpha"),
        ("c", "gamma"),
        ("d", "delta"),
    ]
    assert [record.place.line for record in records] == [1, 3, 4, 5, 6]
    assert [failure.id for failure in failures_of(records)] == ["in.jsonl:3", "in.jsonl:5"]
    assert "secret" not in repr(records) + "".join(failure.detail for failure in failures_of(records))


def test_b070_strict_reading_counts_all_faults_and_names_their_places(tmp_path: Path) -> None:
    first = line(id="a", text="alpha", label="x")
    content = f'{first}\n\n{{"id": "b", "te\n{line(id="c", text="gamma", label="x")}\n["secret"]\n'
    with pytest.raises(DataError) as refused:
        load_labelled([write(tmp_path / "in.jsonl", content)])
    assert str(refused.value) == (
        "2 of 4 documents cannot be used. Mend or remove them:\n"
        "  in.jsonl:3 (unreadable: The record is not valid JSON at character 15.)\n"
        "  in.jsonl:5 (unreadable: The line must hold an object, but holds another value instead.)"
    )


def test_b070_two_objects_on_one_line_are_one_fault(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl", f"{line(id='a', text='x')} {line(id='b', text='y')}\n{line(id='c', text='z')}\n"
    )
    records = records_of(path)
    assert failed_lines(records) == [1]
    assert [document.id for document in documents_of(records)] == ["c"]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_b071_the_last_record_needs_no_newline(tmp_path: Path, count: int, ending: str) -> None:
    names = [f"n{number}" for number in range(count)]
    between = ending or "\n"
    jsonl = write(tmp_path / "in.jsonl", between.join(line(id=name, text=f"of {name}") for name in names) + ending)
    table = write(tmp_path / "in.csv", between.join(["id,text", *(f"{name},of {name}" for name in names)]) + ending)
    for path in (jsonl, table):
        found = [(document.id, document.text) for document in documents_of(records_of(path))]
        assert found == [(name, f"of {name}") for name in names]
    (document,) = documents_of(records_of(write(tmp_path / "in.txt", f"one{ending}")))
    assert document.text == f"one{ending}"


def test_b073_words_for_missing_values_stay_words(tmp_path: Path) -> None:
    cells = ["null", "NA", "nan", "None", "", '""', "NULL", "N/A", "#N/A", "-inf"]
    one_column = write(tmp_path / "one.csv", "text\n" + "\n".join(cells) + "\n")
    two_columns = write(tmp_path / "two.csv", "id,text\n" + "".join(f"i{n},{cell}\n" for n, cell in enumerate(cells)))
    expected = ["null", "NA", "nan", "None", "", "", "NULL", "N/A", "#N/A", "-inf"]
    for path in (one_column, two_columns):
        records = records_of(path)
        assert not failures_of(records)
        assert [document.text for document in documents_of(records)] == expected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.jsonl", b'{"id": "a", "text": "f\xc3\xbcr"}\n{"id": "b", "text": "zwei"}\n'),
        ("in.csv", b"id,text\na,f\xc3\xbcr\nb,zwei\n"),
        ("in.txt", b"f\xc3\xbcr\nzwei\n"),
    ],
)
def test_b074_a_byte_order_mark_changes_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    plain, marked = (
        documents_of(records_of(write(tmp_path / folder / name, mark + content)))
        for folder, mark in (("plain", b""), ("marked", BOM))
    )
    assert [(d.id, d.text) for d in marked] == [(d.id, d.text) for d in plain]
    assert not any("\ufeff" in d.text + d.id for d in marked)
    assert {d.meta["encoding_source"] for d in plain} == {"strict"}
    assert {d.meta["encoding_source"] for d in marked} == {"bom"}


def test_b074_only_the_mark_itself_is_removed(tmp_path: Path) -> None:
    (document,) = documents_of(records_of(write(tmp_path / "in.txt", BOM + BOM + b"x")))
    assert document.text == "\ufeffx"


@pytest.mark.parametrize("bad", ["a\ud83d b", "\udc00", "\ude00\ud83d x", "ab\udfff"])
def test_b075_lone_surrogates_are_repaired_one_for_one_and_flagged(tmp_path: Path, bad: str) -> None:
    lines = [line(id="1", text="before"), line(id="2", text=bad), line(id="3", text="after")]
    first, second, third = documents_of(records_of(write(tmp_path / "in.jsonl", "\n".join(lines))))
    lone = sum("\ud800" <= c <= "\udfff" for c in bad)
    assert (first.text, third.text) == ("before", "after")
    assert len(second.text) == len(bad)
    assert second.text.encode("utf-8").decode("utf-8").count("\ufffd") == lone
    assert second.meta["repaired_surrogates"] == lone
    assert "repaired_surrogates" not in first.meta


def test_b075_ids_labels_and_other_fields_are_repaired_too(tmp_path: Path) -> None:
    record = {"id": "i\ud800", "text": "t", "labels": ["l\ud800"], "language": "d\ud800", "note\ud800": ["n\ud800"]}
    (document,) = documents_of(records_of(write(tmp_path / "in.jsonl", json.dumps(record))))
    assert (document.id, document.labels, document.language) == ("i\ufffd", ("l\ufffd",), "d\ufffd")
    assert document.meta["note\ufffd"] == ["n\ufffd"]


def test_b076_escaped_pairs_are_one_character(tmp_path: Path) -> None:
    span = [{"start": 2, "end": 5, "label": "person"}]
    escaped = json.dumps({"id": "e", "text": "😀 Ada", "spans": span})
    raw = json.dumps({"id": "r", "text": "😀 Ada", "spans": span}, ensure_ascii=False)
    assert "\\ud83d\\ude00" in escaped
    for document in documents_of(records_of(write(tmp_path / "in.jsonl", f"{escaped}\n{raw}\n"))):
        assert len(document.text) == 5
        assert document.spans is not None
        assert document.text[document.spans[0].start : document.spans[0].end] == "Ada"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_b077_a_line_of_twelve_million_characters_takes_a_few_times_its_size(tmp_path: Path, kind: str) -> None:
    length = 12_000_000
    long = "clause " * (length // 7) + "x" * (length % 7)
    texts = ["short", long, "end"]
    if kind == "jsonl":
        content = "".join(line(id=str(number), text=text) + "\n" for number, text in enumerate(texts))
    else:
        out = io.StringIO()
        csv.writer(out).writerows([["id", "text"], *([number, text] for number, text in enumerate(texts))])
        content = out.getvalue()
    path = write(tmp_path / f"in.{kind}", content)
    del content, long, texts
    tracemalloc.start()
    try:
        lengths = [len(document.text) for document in documents_of(records_of(path))]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lengths == [5, length, 3]
    assert peak < {"jsonl": 6, "csv": 10}[kind] * length  # the csv module keeps four bytes a character

"""Labels in a table beside the files that they are about."""

from __future__ import annotations

import json
import logging
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longdoc.errors import DataError
from longdoc.readers import FieldMap, ReadConfig, find_documents, find_sources, load_labelled, read_documents
from longdoc.types import Document
from pdf_kit import pdf
from reader_kit import settings_of, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.md", "sub/c.txt"):
        write(tmp_path / "in" / name, f"text of {name}")
    return tmp_path / "in"


def load(*inputs: Path, **given: Any) -> list[Document]:
    return load_labelled(list(inputs), settings_of(**{"fields": {"file": "file"}, **given}))


def refusal(*inputs: Path, **given: Any) -> str:
    with pytest.raises(DataError) as refused:
        load(*inputs, **given)
    return str(refused.value)


def labels(documents: list[Document]) -> dict[str, str | None]:
    return {document.id: document.label for document in documents}


def test_rows_find_their_files_and_keep_what_else_they_say(folder: Path, tmp_path: Path) -> None:
    table = write(
        tmp_path / "labels.csv", "file,label,year,language\nsub/c.txt,x,1999,de\na.txt,y,2001,\nb.md,x,2002,en\n"
    )
    found = load(folder, table)
    assert [(d.id, d.text, d.label, d.language) for d in found] == [
        ("a.txt", "text of a.txt", "y", None),
        ("b.md", "text of b.md", "x", "en"),
        ("sub/c.txt", "text of sub/c.txt", "x", "de"),
    ]
    assert [d.meta["year"] for d in found] == ["2001", "2002", "1999"]


@pytest.mark.parametrize(
    "written",
    ["sub/c.txt", "sub/c", "c.txt", "c", "./sub/c.txt", r"sub\c.txt", " sub/c.txt ", "in/sub/c.txt", "in/sub/c"],
)
def test_a_name_may_be_a_path_or_a_name_with_or_without_its_ending(folder: Path, tmp_path: Path, written: str) -> None:
    table = write(tmp_path / "labels.csv", f"file,label\na,y\nb,y\n{written},x\n")
    assert labels(load(folder, table)) == {"a.txt": "y", "b.md": "y", "sub/c.txt": "x"}


def test_the_whole_path_comes_before_the_name(folder: Path, tmp_path: Path) -> None:
    write(folder / "sub" / "a.txt", "another")
    table = write(tmp_path / "labels.csv", "file,label\na.txt,top\nsub/a.txt,below\nb,y\nc,y\n")
    assert labels(load(folder, table)) == {"a.txt": "top", "b.md": "y", "sub/a.txt": "below", "sub/c.txt": "y"}


def test_a_name_that_two_files_have_says_too_little(folder: Path, tmp_path: Path) -> None:
    write(folder / "sub" / "b.txt", "another")
    table = write(tmp_path / "labels.csv", "file,label\na,y\nc,y\nsub/b,x\nb.md,x\n")
    assert labels(load(folder, table))["sub/b.txt"] == "x"
    write(folder / "other" / "c.md", "another")
    assert refusal(folder, table, files_without_label="leave_out") == (
        "Rows and files do not fit together in 1 place. Mend them, or leave out what has no counterpart by "
        "`read.labels_without_file` and `read.files_without_label`:\n"
        "  labels.csv:3 (it may mean other/c.md or sub/c.txt: write the path)"
    )


def test_letters_that_a_file_system_takes_apart_are_the_same(tmp_path: Path) -> None:
    taken_apart, composed = (unicodedata.normalize(form, "Ärztin.txt") for form in ("NFD", "NFC"))
    write(tmp_path / "in" / taken_apart, "x")
    table = write(tmp_path / "labels.csv", f"file,label\n{composed},y\n")
    assert labels(load(tmp_path / "in", table)) == {taken_apart: "y"}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_tables_of_each_kind_and_labels_of_each_kind(folder: Path, tmp_path: Path, suffix: str) -> None:
    rows = [
        {"file": "a.txt", "labels": ["x", "y"], "target": 1.5},
        {"file": "b.md", "labels": [], "target": 2.0},
        {"file": "sub/c.txt", "labels": ["y"], "target": -1.0},
    ]
    table = tmp_path / f"labels{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), table)
    elif suffix == ".jsonl":
        write(table, "".join(json.dumps(row) + "\n" for row in rows))
    else:
        cells = [
            f'{row["file"]},"{json.dumps(row["labels"]).replace(chr(34), chr(34) * 2)}",{row["target"]}\n'
            for row in rows
        ]
        write(table, "file,labels,target\n" + "".join(cells))
    found = load(folder, table)
    assert [(d.labels, d.target) for d in found] == [(("x", "y"), 1.5), ((), 2.0), (("y",), -1.0)]


def test_a_table_inside_the_folder_is_no_document(folder: Path) -> None:
    write(folder / "metadata.csv", "file_name,label\na.txt,x\nb.md,y\nsub/c.txt,x\n")
    assert labels(load(folder, fields={"file": "file_name"})) == {"a.txt": "x", "b.md": "y", "sub/c.txt": "x"}


def test_a_table_speaks_of_the_files_beside_it(tmp_path: Path) -> None:
    for part in ("one", "two"):
        write(tmp_path / "in" / part / "a.txt", part)
        write(tmp_path / "in" / part / "metadata.csv", f"file,label\na.txt,{part}\n")
    assert labels(load(tmp_path / "in")) == {"one/a.txt": "one", "two/a.txt": "two"}


def test_pdf_files_train_with_their_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    write(tmp_path / "in" / "x.pdf", pdf(["first page", "second page"]))
    (document,) = load(tmp_path / "in", write(tmp_path / "labels.csv", "id,label\nx,report\n"), fields={"file": "id"})
    assert (document.id, document.label) == ("x.pdf", "report")
    assert [page[2] for page in document.meta["pages"]] == [1, 2]
    assert "encoding" not in document.meta


def test_everything_that_does_not_fit_is_said_at_once_and_without_a_value(folder: Path, tmp_path: Path) -> None:
    rows = ["a.txt,x", "secret.txt,x", "a,y", "b.md,", ",x", "secret,secret,secret"]
    table = write(tmp_path / "labels.csv", "file,label\n" + "\n".join(rows) + "\n")
    said = refusal(folder, table)
    assert said == (
        "Rows and files do not fit together in 6 places. Mend them, or leave out what has no counterpart by "
        "`read.labels_without_file` and `read.files_without_label`:\n"
        "  labels.csv:3 (it names no file of the inputs)\n"
        "  labels.csv:4 (it names the file of labels.csv:2 again)\n"
        "  labels.csv:5 (it has no label)\n"
        "  labels.csv:6 (it has no name of a file)\n"
        "  labels.csv:7 (unreadable: Line 7 must have 2 cells, as the header has, but has 3 instead.)\n"
        "  sub/c.txt (no row names it)"
    )


def test_a_label_that_is_none_is_refused_before_any_file_is_read(folder: Path, tmp_path: Path) -> None:
    write(folder / "broken.pdf", "no PDF")
    rows = [{"file": name, "label": "x"} for name in ("a", "b", "c")] + [{"file": "broken", "label": 1.5}]
    table = write(tmp_path / "labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert refusal(folder, table).endswith(
        ":\n  labels.jsonl:4 (unreadable: `label` must be a string or an integer, but is a number instead.)"
    )


def test_what_has_no_counterpart_may_be_left_out_and_is_counted(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = write(tmp_path / "labels.csv", "file,label\na.txt,x\nother.txt,y\nmore.txt,y\n")
    with caplog.at_level(logging.WARNING):
        found = load(folder, table, files_without_label="leave_out", labels_without_file="leave_out")
    assert labels(found) == {"a.txt": "x"}
    assert [record.getMessage() for record in caplog.records] == [
        "Left out: rows that name no file: 2",
        "Left out: files without a label: 2",
    ]
    assert "other.txt" not in caplog.text


def test_leaving_out_the_one_does_not_hide_the_other(folder: Path, tmp_path: Path) -> None:
    table = write(tmp_path / "labels.csv", "file,label\na.txt,x\nother.txt,y\n")
    assert refusal(folder, table, files_without_label="leave_out").endswith(
        ":\n  labels.csv:3 (it names no file of the inputs)"
    )
    assert refusal(folder, table, labels_without_file="leave_out").endswith(
        ":\n  b.md (no row names it)\n  sub/c.txt (no row names it)"
    )


def test_a_file_that_cannot_be_read_is_refused_as_ever(folder: Path, tmp_path: Path) -> None:
    write(folder / "b.md", b"\xff\xfe\xfd\x00\x81")
    said = refusal(folder, write(tmp_path / "labels.csv", "file,label\na,x\nb,y\nc,y\n"))
    assert said.startswith("1 of 3 documents cannot be used. Mend or remove them:\n  b.md (decode_error: ")


@pytest.mark.parametrize(
    ("named", "right"),
    [
        (
            "in",
            "`read.fields.file` needs a table among the inputs of `data`, but there is none. Name it beside the files: "
            "--data FOLDER --data labels.csv.",
        ),
        (
            "labels.csv",
            "`read.fields.file` needs a file among the inputs of `data`, but there is none. Name it beside the table: "
            "--data FOLDER --data labels.csv.",
        ),
    ],
)
def test_a_table_without_files_and_files_without_a_table(folder: Path, named: str, right: str) -> None:
    write(folder.parent / "labels.csv", "file,label\na,x\n")
    assert refusal(folder.parent / named) == right


@pytest.mark.parametrize(
    ("name", "content", "right"),
    [
        (
            "labels.csv",
            "path,label\na,x\n",
            "labels.csv has no column `file`. Columns found: `path`, `label`. Name the column that holds the names of "
            "the files in `read.fields.file`.",
        ),
        (
            "labels.jsonl",
            '{"path": "a", "label": "x"}\n',
            "Rows and files do not fit together in 1 place. Mend them, or leave out what has no counterpart by "
            "`read.labels_without_file` and `read.files_without_label`:\n"
            "  labels.jsonl:1 (unreadable: The record has no field `file`. Name the right one in `read.fields.file`.)",
        ),
    ],
)
def test_a_missing_column_is_named_by_its_setting(folder: Path, name: str, content: str, right: str) -> None:
    assert refusal(folder, write(folder.parent / name, content), files_without_label="leave_out") == right


def test_numbers_in_the_column_of_names_are_no_names(folder: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"file": [1], "label": ["x"]}), tmp_path / "labels.parquet")
    assert refusal(folder, tmp_path / "labels.parquet") == (
        "The column `file` of labels.parquet must hold strings, but has the type int64 instead. Name the column that "
        "holds the names of the files in `read.fields.file`."
    )


def test_the_column_of_names_may_be_that_of_ids_and_no_other() -> None:
    assert FieldMap(file="id").file == "id"
    with pytest.raises(ValueError, match=r"`read.fields.label` and `read.fields.file` both name the column `label`"):
        FieldMap(file="label")
    assert ReadConfig().fields.file is None


class TestTablesThatAreNoDocuments:
    """Where documents are read, the table of their labels is none."""

    SETTINGS = ReadConfig(fields=FieldMap(file="path"))

    def left_out(self, folder: Path, settings: ReadConfig = SETTINGS) -> list[str]:
        write(folder / "a.txt", "one")
        sources, tables = find_documents([folder], settings)
        assert sorted(sources + tables, key=lambda source: source.name) == find_sources([folder], settings)
        return [table.name for table in tables]

    @pytest.mark.parametrize(
        ("name", "content", "is_left_out"),
        [
            ("l.csv", "path,label\na.txt,A\n", True),
            ("l.csv", "path,label\n", True),
            ("l.csv", "path,text\na.txt,A\n", False),
            ("l.csv", "name,label\na.txt,A\n", False),
            ("l.csv", "path,text\na.txt,A,B\n", False),
            ("l.jsonl", '{"path": "a.txt", "label": "A"}\n', True),
            ("l.jsonl", '{"path": "a.txt"}\n{"path": "b", "text": "x"}\n', False),
            ("l.jsonl", '{"path": "a.txt"}\nnonsense\n', False),
            ("l.jsonl", '{"name": "a.txt"}\n', False),
            ("l.jsonl", "", False),
        ],
    )
    def test_they_have_the_column_of_names_and_no_text(
        self, tmp_path: Path, name: str, content: str, is_left_out: bool
    ) -> None:
        write(tmp_path / name, content)
        assert self.left_out(tmp_path) == ([name] if is_left_out else [])
        assert self.left_out(tmp_path, ReadConfig()) == []

    def test_a_text_that_is_too_large_makes_no_table_of_labels(self, tmp_path: Path) -> None:
        write(tmp_path / "l.jsonl", '{"path": "a.txt", "text": "too large"}\n')
        settings = self.SETTINGS.model_copy(update={"max_bytes": 5})
        assert self.left_out(tmp_path, settings) == []

    def test_without_the_setting_the_message_names_the_files_beside_it(self, tmp_path: Path, monkeypatch) -> None:
        for name in ("a.txt", "b.txt", "c.md", ".d.md", ".e.md"):
            write(tmp_path / "in" / "lab" / name, "one")
        write(tmp_path / "in" / "lab" / "l.csv", "path,label\na.txt,A\n")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(DataError) as refused:
            list(read_documents(["in/lab"]))
        assert str(refused.value) == (
            "l.csv has no column `text`. Columns found: `path`, `label`. Name the column that holds the documents in "
            "`read.fields.text`. If it holds labels of the files beside it, name only these, as in `--input "
            "'in/lab/*.txt'`, or its column of their names in `read.fields.file`."
        )
        documents = [record.document.id for record in read_documents(["in/lab"], self.SETTINGS)]
        assert documents == ["a.txt", "b.txt", "c.md"]

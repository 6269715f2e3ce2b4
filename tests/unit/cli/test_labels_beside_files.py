"""A folder of PDF files and a table of their labels: what every command that needs labels makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longdoc.jobs.parts import read_part
from pdf_kit import pdf
from reader_kit import write

TINY = Path(__file__).resolve().parents[3] / "configs" / "debug_tiny.yaml"
LABELS = ["contract", "letter"]
BY_FILE = ("--set", "read.fields.file=file")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve reports of two pages in a folder, and tables of their labels beside it."""
    (tmp_path / "reports").mkdir()
    for number in range(12):
        word = LABELS[number % 2]
        (tmp_path / "reports" / f"r{number}.pdf").write_bytes(pdf([f"the {word} number {number} " * 3, f"a {word}"]))
    for name, members in (("train", range(8)), ("valid", range(8, 12))):
        rows = "".join(f"r{number},{LABELS[number % 2]}\n" for number in members)
        (tmp_path / f"{name}.csv").write_text(f"file,label\n{rows}")
    return tmp_path


@pytest.mark.slow
def test_a_folder_of_pdf_files_with_a_table_of_labels_trains_and_is_evaluated(run, folder: Path) -> None:
    pytest.importorskip("pypdfium2")
    train = ("--data", folder / "reports", "--data", folder / "train.csv")
    rest = ("--set", "read.files_without_label=leave_out")
    told = run("train", "--config", TINY, *train, "--validation", folder / "reports", "--validation",
               folder / "valid.csv", *BY_FILE, *rest, "--output", folder / "model").output  # fmt: skip
    assert "trained on 8 documents" in told
    test = ("--data", folder / "reports", "--data", folder / "valid.csv")
    told = run("evaluate", "--model", folder / "model", *test, *BY_FILE, *rest, "--output", folder / "eval").output
    assert told.endswith(f", 0 without an answer; report in {folder / 'eval' / 'report.html'}\n")
    assert told.startswith("4 documents, ")
    rows = [json.loads(line) for line in (folder / "eval" / "predictions.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["r10.pdf", "r11.pdf", "r8.pdf", "r9.pdf"]
    told = run("compare", "--config", TINY, *train, "--validation", folder / "reports", "--validation",
               folder / "valid.csv", *BY_FILE, *rest, "--output", folder / "compare").output  # fmt: skip
    assert "TF-IDF" in told


def test_the_input_that_lacks_a_folder_is_named(run, folder: Path) -> None:
    told = run("train", "--config", TINY, "--data", folder / "reports", "--data", folder / "train.csv", "--validation",
               folder / "valid.csv", *BY_FILE, "--set", "read.files_without_label=leave_out", "--output",
               folder / "model", expect=2).output  # fmt: skip
    assert told.endswith(
        "longdoc: `read.fields.file` needs a file among the inputs of `validation`, but there is none. Name it beside "
        "the table: --validation FOLDER --validation labels.csv.\n"
    )


def test_files_without_a_label_are_refused_before_anything_is_read(run, folder: Path) -> None:
    told = run("train", "--config", TINY, "--data", folder / "reports", "--data", folder / "train.csv", *BY_FILE,
               "--output", folder / "model", expect=2).output  # fmt: skip
    assert told.split("\n", 1)[1] == (
        "longdoc: Rows and files do not fit together in 4 places. Mend them, or leave out what has no counterpart by "
        "`read.labels_without_file` and `read.files_without_label`:\n"
        "  r10.pdf (no row names it)\n"
        "  r11.pdf (no row names it)\n"
        "  r8.pdf (no row names it)\n"
        "  r9.pdf (no row names it)\n"
    )
    assert not (folder / "model").exists()


def test_where_files_are_answered_their_table_of_labels_is_left_out_and_said_once(run, model, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        write(tmp_path / "lab" / name, "12 14")
    write(tmp_path / "lab" / "labels.csv", "path,label\na.txt,A\n")
    job = ("predict", "--model", model, "--input", tmp_path / "lab", "--output", tmp_path / "out")
    assert f"`--input '{tmp_path / 'lab'}/*.txt'`" in run(*job, expect=2).output
    by_file = ("--set", "read.fields.file=path")
    page = ("explain", "--model", model, "--input", tmp_path / "lab", "--output", tmp_path / "page.html")
    for command in ((*job, "--dry-run"), job, page):
        told = run(*command, *by_file).output
        assert told.count("labels.csv") == 1
        assert "longdoc: labels.csv is left out: it has names of files in `path` and no text.\n" in told
    rows = [row for part in (tmp_path / "out").glob("part-*") for row in read_part(part).to_pylist()]
    assert [row["id"] for row in rows] == ["a.txt", "b.txt"]

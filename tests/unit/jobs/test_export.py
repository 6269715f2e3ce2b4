"""One file from a job, in input order, whole or not at all."""

from __future__ import annotations

import csv
import errno
import io
import json
import os

import pyarrow.parquet as pq
import pytest

from job_kit import EchoPredictor, load_echo, write_corpus
from longdoc.errors import CannotWriteError, JobError, UsageError
from longdoc.jobs import JobConfig, export_job, run_job
from longdoc.jobs.export import _quoted
from longdoc.jobs.parts import PARQUET_SCHEMA, read_part
from longdoc.types import DocumentPrediction, EvidencePassage, LabelScore, ScoredSpan

AWKWARD = 'comma, "quote"\nline\u2028end\r\n\U0001f600 é'


class AwkwardPredictor(EchoPredictor):
    """Labels and evidence that are hard to write down."""

    fingerprint = "awkward"

    def stream(self, documents):
        for number, result in enumerate(super().stream(documents)):
            if isinstance(result, DocumentPrediction) and number % 2:
                yield DocumentPrediction(
                    id=result.id,
                    label=AWKWARD,
                    score=0.1 + 0.2,
                    labels=(LabelScore(AWKWARD, 0.1 + 0.2), LabelScore("b", 1e-300)),
                    spans=(ScoredSpan(0, 1, AWKWARD, 0.5),),
                    evidence=(EvidencePassage(0, 1, AWKWARD, -0.5),),
                )
            else:
                yield result


@pytest.fixture
def output(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 26)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", AwkwardPredictor, job=JobConfig(documents_per_part=4))
    return tmp_path / "out"


@pytest.fixture
def rows(output):
    """What the files must say: the rows of the parts, `chosen` only where there is one."""
    found = [row for part in sorted(output.glob("part-*")) for row in read_part(part).to_pylist()]
    for row in found:
        row["labels"] = [{key: value for key, value in item.items() if value is not None} for item in row["labels"]]
    return found


def test_json_lines_hold_every_row_in_input_order(output, rows, tmp_path):
    assert export_job(output, tmp_path / "all.jsonl") == 26
    data = (tmp_path / "all.jsonl").read_bytes()
    assert data.endswith(b"\n")
    assert [json.loads(line) for line in data.decode("utf-8").split("\n")[:-1]] == rows
    assert {"chosen" in item for row in rows for item in row["labels"]} == {True, False}
    assert list(rows[0])[:13] == list(DocumentPrediction(id="x").to_dict())


def test_a_spreadsheet_holds_every_row_with_lists_as_json(output, rows, tmp_path):
    assert export_job(output, tmp_path / "all.csv") == 26
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert list(found[0]) == PARQUET_SCHEMA.names
    for cells, row in zip(found, rows, strict=True):
        for name, cell in cells.items():
            value = row[name]
            if value is None:
                assert cell == ""
            elif isinstance(value, list):
                assert json.loads(cell) == value
            elif isinstance(value, float):
                assert float(cell) == value
            else:
                assert cell == str(value)


@pytest.mark.parametrize("cell", ["a,b", 'a"b', "a\nb", "a\rb", "\r\n", "", '"', '""', " a ", "a;b", "a\u2028b"])
def test_a_cell_is_read_back_as_it_was(cell):
    line = f"x,{_quoted(cell)},y\n"
    assert list(csv.reader(io.StringIO(line, newline=""))) == [["x", cell, "y"]]
    assert (_quoted(cell) == cell) == (not set(cell) & set(',"\r\n'))


def test_a_cell_with_a_nul_is_written_whatever_the_version_of_python():
    assert _quoted('a\0"b') == '"a\0""b"'


def test_parquet_holds_every_row_and_the_columns_of_a_part(output, rows, tmp_path):
    assert export_job(output, tmp_path / "all.parquet") == 26
    table = pq.read_table(tmp_path / "all.parquet")
    assert table.schema.equals(PARQUET_SCHEMA)
    found = table.to_pylist()
    for row in found:
        row["labels"] = [{key: value for key, value in item.items() if value is not None} for item in row["labels"]]
    assert found == rows


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_same_export_gives_the_same_bytes_and_leaves_no_other_file(output, tmp_path, suffix):
    (tmp_path / "exports").mkdir()
    for name in ("a", "b"):
        export_job(output, tmp_path / f"exports/{name}.{suffix}")
    a, b = sorted((tmp_path / "exports").iterdir())
    assert (a.name, b.name) == (f"a.{suffix}", f"b.{suffix}")
    assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_job_without_documents_exports_to_an_empty_table(tmp_path, suffix):
    (tmp_path / "in.jsonl").write_text("")
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo)
    assert export_job(tmp_path / "out", tmp_path / f"all.{suffix}") == 0
    expected = {"jsonl": b"", "csv": (",".join(PARQUET_SCHEMA.names) + "\n").encode()}
    if suffix in expected:
        assert (tmp_path / f"all.{suffix}").read_bytes() == expected[suffix]
    else:
        assert pq.read_table(tmp_path / "all.parquet").schema.equals(PARQUET_SCHEMA)


def test_another_suffix_is_refused(output, tmp_path):
    with pytest.raises(UsageError) as caught:
        export_job(output, tmp_path / "all.xlsx")
    assert str(caught.value) == "`file` must end in .jsonl, .csv, .parquet, but is all.xlsx instead."


def test_a_name_that_readers_would_take_for_a_part_is_refused(output):
    with pytest.raises(UsageError) as caught:
        export_job(output, output / "part-all.parquet")
    assert str(caught.value) == (
        "`file` must not look like one of the job's own files, but is part-all.parquet. Rename it."
    )
    assert export_job(output, output / "all.parquet") == 26


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_damaged_or_unfinished_job_leaves_the_old_export_alone(output, tmp_path, suffix):
    (tmp_path / "exports").mkdir()
    target = tmp_path / f"exports/all.{suffix}"
    export_job(output, target)
    old = target.read_bytes()
    last = output / "part-00006.parquet"
    last.write_bytes(last.read_bytes()[:-1])
    with pytest.raises(JobError, match=r"part-00006\.parquet is damaged"):
        export_job(output, target)
    (output / "_manifest.json").unlink()
    with pytest.raises(JobError, match="is not complete: it has no"):
        export_job(output, target)
    assert target.read_bytes() == old
    assert [path.name for path in (tmp_path / "exports").iterdir()] == [target.name]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_full_disk_leaves_the_old_export_alone(output, tmp_path, suffix, monkeypatch):
    (tmp_path / "exports").mkdir()
    target = tmp_path / f"exports/all.{suffix}"
    export_job(output, target)
    old = target.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWriteError) as caught:
        export_job(output, target)
    assert str(caught.value).startswith(f"{target} cannot be written: No space left on device (ENOSPC); ")
    assert target.read_bytes() == old
    assert [path.name for path in (tmp_path / "exports").iterdir()] == [target.name]


def test_what_cannot_be_a_file_is_refused_at_once(output, tmp_path):
    for file, message in (
        ("absent/all.jsonl", f"must be in a folder that exists, but there is no folder {tmp_path / 'absent'}. Create"),
        ("folder.csv", f"must be a file, but {tmp_path / 'folder.csv'} is a folder. Name a file in it."),
    ):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(UsageError) as refused:
            export_job(output, tmp_path / file)
        assert str(refused.value).startswith(f"`file` {message}")


@pytest.mark.parametrize("identity", ["=1+1", "+49 30", "-5", "@home", "\t=x", "'=x"])
def test_an_id_that_a_spreadsheet_takes_for_a_formula_is_written_as_it_is(tmp_path, identity):
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": identity, "text": "x"}) + "\n")
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo)
    export_job(tmp_path / "out", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["id"] == identity

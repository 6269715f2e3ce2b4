"""Jobs of questions: question and answer in every row, read back, verified, exported, the same after a stop."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answer_kit import toy
from job_kit import final_files
from longdoc.adapters.tables import to_table
from longdoc.decide import Decisions
from longdoc.jobs import JobConfig, export_job, run_job, verify_job
from longdoc.jobs.answer_rows import ANSWERS, UNSURE
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.row_kinds import rows_of
from longdoc.jobs.rows import finite_or_failed
from longdoc.types import AnswerSpan, Document, DocumentFailure, DocumentPrediction

ROWS = [
    {"id": "found", "text": "out b1 e1 out out out out out b2 e2 out", "question": "who"},
    {"id": "none", "text": "out " * 20, "question": "who, then"},
    {"id": "unasked", "text": "b1 e1"},
    {"id": "unsure", "text": "both b1 e1 both", "question": "who"},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def run(corpus: Path, output: Path) -> None:
    def load() -> object:
        return toy(12, 3, decisions=Decisions(min_score=0.5))

    run_job([corpus], output, load, job=JobConfig(documents_per_part=2, max_failures=9), rows=ANSWERS)  # type: ignore[arg-type]


def test_rows_carry_question_and_answer_in_every_format(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "out")
    assert isinstance(rows_of(JobPlan.read_back(tmp_path / "out").settings), type(ANSWERS))
    assert verify_job(tmp_path / "out").documents == 4
    table = pa.concat_tables([pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*"))])
    assert table.schema.names == ANSWERS.schema.names
    rows = {row["id"]: row for row in table.to_pylist()}
    assert [rows[name]["answer"] for name in rows] == ["b2 e2", None, None, None]
    assert [rows[name]["question"] for name in rows] == ["who", "who, then", None, "who"]
    assert rows["found"]["answers"][0] == {
        "start": 30, "end": 35, "text": "b2 e2", "score": rows["found"]["score"], "chunk": 2,
    }  # fmt: skip
    assert rows["none"]["score"] > 0
    assert len(rows["none"]["answers"]) == 20
    assert rows["unsure"]["detail"] == UNSURE
    assert (rows["unasked"]["status"], rows["unasked"]["reason"], rows["unasked"]["answers"]) == ("failed", "empty", [])
    for suffix in (".jsonl", ".csv", ".parquet"):
        assert export_job(tmp_path / "out", tmp_path / f"all{suffix}") == 4
    assert [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()] == table.to_pylist()
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    assert [cell["answer"] for cell in cells] == ["b2 e2", "", "", ""]
    assert json.loads(cells[0]["answers"]) == rows["found"]["answers"]


def test_a_job_that_lost_a_part_writes_the_same_bytes_again(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "one")
    run(corpus, tmp_path / "two")
    (tmp_path / "two" / "part-00001.parquet").unlink()
    (tmp_path / "two" / "_manifest.json").unlink()
    run(corpus, tmp_path / "two")
    assert final_files(tmp_path / "one") == final_files(tmp_path / "two")


def test_numbers_that_are_not_finite_are_no_answer_and_tables_have_the_same_columns() -> None:
    wrong = DocumentPrediction("a", question="q", answers=(AnswerSpan(0, 1, "x", float("nan"), 1),))
    assert isinstance(finite_or_failed(wrong, ANSWERS), DocumentFailure)
    results = toy(12, 3).predict([Document("a", "b1 e1", question="who"), Document("b", "b1")])
    table = to_table(results)
    assert table.schema == ANSWERS.schema
    assert table["answer"].to_pylist() == ["b1 e1", None]

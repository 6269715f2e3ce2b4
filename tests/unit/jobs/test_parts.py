"""One part: the contract's row, the same bytes always, and nothing accepted that is not the part of the plan."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from job_kit import load_echo, write_corpus, write_documents
from longdoc.errors import JobError
from longdoc.jobs.parts import PARQUET_SCHEMA, check_part, read_part, write_part
from longdoc.jobs.plan import JobConfig, plan_job
from longdoc.jobs.runner import run_job
from longdoc.readers.base import ReadConfig
from longdoc.types import DocumentFailure, DocumentPrediction, EvidencePassage, LabelScore, ScoredSpan

FULL = DocumentPrediction(
    id="0",
    label="é\U0001f600",
    score=0.1 + 0.2,
    labels=(LabelScore("a", 1 / 3, True), LabelScore("b", 5e-324, False)),
    value=-0.0,
    spans=(ScoredSpan(0, 3, "x", 0.5), ScoredSpan(2, 9, "y", 1.0)),
    n_tokens=2**40,
    n_chunks=3,
    tokens_read=7,
    unknown_share=0.25,
    evidence=(EvidencePassage(0, 4, "a", -1.5),),
)
BARE = DocumentPrediction(id="1", label="a", score=1.0, labels=(LabelScore("a", 1.0),), evidence=())
FAILED = DocumentFailure("2", "timeout", "read", "TimeoutError", "page 3", n_tokens=5, n_chunks=2, unknown_share=0.5)


@pytest.fixture
def planned(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a", "b", "c"])
    output = tmp_path / "out"
    return output, plan_job([tmp_path / "in.jsonl"], ReadConfig(), JobConfig(), "p", output)


def test_a_row_comes_back_as_it_went_in_bit_for_bit(planned):
    output, plan = planned
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    rows = read_part(output / "part-00000.parquet").to_pylist()
    extra = {"stage": None, "error": None, "detail": None}
    assert rows[0] == FULL.to_dict() | extra
    assert math.copysign(1, rows[0]["value"]) == -1
    without_chosen = BARE.to_dict() | {"labels": [{"label": "a", "score": 1.0, "chosen": None}]}
    assert rows[1] == without_chosen | extra
    assert rows[2] == FAILED.to_dict() | {"stage": "read", "error": "TimeoutError", "detail": "page 3"}


def test_every_key_of_a_result_is_a_column(planned):
    assert set(FULL.to_dict()) | {"stage", "error", "detail"} == set(PARQUET_SCHEMA.names)
    assert list(FULL.to_dict()) == PARQUET_SCHEMA.names[: len(FULL.to_dict())]


def test_a_part_is_one_row_group_without_anything_that_varies(planned):
    output, plan = planned
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    first = (output / "part-00000.parquet").read_bytes()
    file = pq.ParquetFile(pa.BufferReader(first))
    assert file.num_row_groups == 1
    assert file.schema_arrow.metadata == {
        b"longdoc.schema_version": b"1",
        b"longdoc.plan": plan.fingerprint.encode(),
    }
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    assert (output / "part-00000.parquet").read_bytes() == first


def test_a_number_that_is_not_finite_is_a_failure_and_never_an_answer(planned):
    output, plan = planned
    nan, inf = float("nan"), float("inf")
    results = [
        DocumentPrediction(id="0", label="a", score=nan, n_tokens=9, n_chunks=2, tokens_read=9),
        DocumentPrediction(id="1", labels=(LabelScore("a", inf),)),
        DocumentPrediction(id="2", evidence=(EvidencePassage(0, 1, "a", -inf),)),
    ]
    outcome = write_part(output, plan, plan.parts[0], results)
    assert (outcome.failed, outcome.reasons) == (3, {"non_finite_output": 3})
    rows = read_part(output / "part-00000.parquet").to_pylist()
    assert [row["reason"] for row in rows] == ["non_finite_output"] * 3
    assert [row["label"] for row in rows] == [None] * 3
    assert (rows[0]["n_tokens"], rows[0]["tokens_read"]) == (9, 0)
    assert check_part(output, plan, plan.parts[0]) == outcome


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ([FULL, BARE], "part-00000.parquet must have 3 results, but the predictor gave 2."),
        ([FULL, BARE, FAILED, FAILED], "part-00000.parquet must have 3 results, but the predictor gave 4."),
        (
            [BARE, FULL, FAILED],
            "part-00000.parquet must have the results of its documents in plan order, but the ids differ.",
        ),
        (
            [FULL, FULL, FAILED],
            "part-00000.parquet must have the results of its documents in plan order, but the ids differ.",
        ),
    ],
)
def test_results_that_are_not_those_of_the_part_are_never_written(planned, results, sentence):
    output, plan = planned
    with pytest.raises(JobError) as caught:
        write_part(output, plan, plan.parts[0], results)
    assert str(caught.value) == sentence
    assert not (output / "part-00000.parquet").exists()


def test_the_check_gives_what_writing_gave(planned):
    output, plan = planned
    written = write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    assert check_part(output, plan, plan.parts[0]) == written
    assert (written.documents, written.failed, written.reasons) == (3, 1, {"timeout": 1})


def test_a_part_that_was_cut_anywhere_is_damaged(planned):
    output, plan = planned
    path = output / "part-00000.parquet"
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(JobError) as caught:
            check_part(output, plan, plan.parts[0])
        assert str(caught.value).startswith(f"{path} is damaged (")
        assert str(caught.value).endswith("). Run the job again to write it anew.")


def test_no_changed_byte_ever_gives_other_rows(planned):
    output, plan = planned
    path = output / "part-00000.parquet"
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    whole, rows = path.read_bytes(), read_part(path).to_pylist()
    refused = 0
    for place in range(0, len(whole), 31):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            check_part(output, plan, plan.parts[0])
        except JobError:
            refused += 1
        else:  # some bytes decide no row, such as the name of the library; the manifest's sha256 covers them
            assert read_part(path).to_pylist() == rows
    assert refused > len(whole) // 31 // 3


def test_a_part_of_another_job_is_refused(planned, tmp_path):
    output, plan = planned
    other = plan_job([tmp_path / "in.jsonl"], ReadConfig(), JobConfig(), "other model", tmp_path / "other")
    write_part(tmp_path / "other", other, other.parts[0], [FULL, BARE, FAILED])
    (tmp_path / "other/part-00000.parquet").rename(output / "part-00000.parquet")
    with pytest.raises(JobError) as caught:
        check_part(output, plan, plan.parts[0])
    assert str(caught.value) == (
        f"{output / 'part-00000.parquet'} belongs to another job: it was not written for the plan beside it."
    )


def rewrite(path, change):
    table = change(pq.read_table(path))
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.slice(1), "must have 3 rows, but has 2 instead."),
        (
            lambda table: table.take([1, 0, 2]),
            "must have one row for each of its documents in plan order, but its ids differ.",
        ),
        (
            lambda table: table.take([0, 0, 2]),
            "must have one row for each of its documents in plan order, but its ids differ.",
        ),
        (
            lambda table: table.drop_columns(["value"]),
            "must have the columns of a part, but its columns differ. It was not written by a job.",
        ),
        (
            lambda table: table.set_column(1, PARQUET_SCHEMA.field("status"), pa.array(["ok", "done", "failed"])),
            "must have a reason for each failed row and for no other, but row 1 differs.",
        ),
        (
            lambda table: table.replace_schema_metadata(table.schema.metadata | {b"longdoc.schema_version": b"7"}),
            "has schema version 7, but this longdoc reads version 1. Use the longdoc that wrote it, or a newer one.",
        ),
    ],
)
def test_a_part_with_other_content_is_refused(planned, change, sentence):
    output, plan = planned
    path = output / "part-00000.parquet"
    write_part(output, plan, plan.parts[0], [FULL, BARE, FAILED])
    rewrite(path, change)
    with pytest.raises(JobError) as caught:
        check_part(output, plan, plan.parts[0])
    assert str(caught.value) == f"{path} {sentence}"


def test_a_missing_part_is_said_to_be_missing(planned):
    output, plan = planned
    with pytest.raises(JobError) as caught:
        check_part(output, plan, plan.parts[0])
    assert str(caught.value) == f"{output / 'part-00000.parquet'} is missing. Run the job again to write it."


THREADS = """
import os, sys
from pathlib import Path
from longdoc.jobs.export import export_job
from longdoc.jobs.verify import verify_job
from longdoc.readers import find_sources, read_source
from longdoc.readers.base import FieldMap, ReadConfig
from longdoc.types import Document

output, parquet = sys.argv[1:]
before = len(os.listdir("/proc/self/task"))
verify_job(Path(output))
export_job(output, parquet)
settings = ReadConfig(fields=FieldMap(text="status", label=None, labels=None, spans=None))
records = [record for source in find_sources([parquet], settings) for record in read_source(source, settings)]
rows = sum(isinstance(record.document, Document) for record in records)
print(rows, len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_reading_and_writing_parquet_leaves_no_thread_that_could_outlive_the_process(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 12)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JobConfig(documents_per_part=4))
    ended = subprocess.run(
        [sys.executable, "-c", THREADS, tmp_path / "out", tmp_path / "rows.parquet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == ["12", "0"], ended.stdout + ended.stderr

"""An export is written over an earlier one, and over nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from job_kit import load_echo
from longdoc.errors import UsageError
from longdoc.jobs.earlier_export import refuse_stranger
from longdoc.jobs.embedding_rows import EmbeddingRows
from longdoc.jobs.export import export_job
from longdoc.jobs.export_vectors import export_vectors
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.runner import run_job
from longdoc.readers.base import ReadConfig

NOTHING = JobPlan({}, (), ())


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    (folder / "letters.csv").write_text("id,text,label\n1,one,a\n2,two,b\n")
    run_job([folder / "letters.csv"], folder / "out", load_echo)
    return folder


def refusal(file: Path) -> str:
    return f"`file` must be new or an earlier export, but {file} is there and is no export. Choose another name."


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_an_earlier_export_is_replaced_also_by_another_job(job: Path, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"all.{suffix}"
    for _ in range(2):
        assert export_job(job / "out", file) == 2
    (tmp_path / "more.jsonl").write_text('{"text": "three"}\n')
    run_job([tmp_path / "more.jsonl"], tmp_path / "more", load_echo)
    assert export_job(tmp_path / "more", file) == 1
    file.write_bytes(b"")
    assert export_job(job / "out", file) == 2


def write_foreign(file: Path) -> None:
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"id": ["1"], "text": ["x"]}), file)
    elif file.suffix == ".npy":
        np.save(file, np.ones((2, 3), np.float32))
    else:
        file.write_text(
            {".csv": "id,status,reason,label\n1,ok,,a\n", ".jsonl": '{"id": "1", "text": "x"}\n'}[file.suffix]
        )


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "npy"])
@pytest.mark.parametrize("content", ["foreign", "garbage"])
def test_what_is_no_export_is_refused_and_stays(tmp_path: Path, suffix: str, content: str) -> None:
    file = tmp_path / f"mine.{suffix}"
    if content == "foreign":
        write_foreign(file)
    else:
        file.write_bytes(b"\xff\x00[" * 9)
    before = file.read_bytes()
    with pytest.raises(UsageError) as refused:
        refuse_stranger(file, NOTHING)
    assert str(refused.value) == refusal(file)
    assert file.read_bytes() == before


def test_an_export_with_a_column_of_ones_own_is_not_an_export_any_more(job: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    export_job(job / "out", file)
    lines = file.read_text().splitlines()
    file.write_text("".join(f"{line},checked\n" for line in lines))
    with pytest.raises(UsageError, match="is there and is no export"):
        export_job(job / "out", file)


def test_the_input_of_the_job_is_refused(job: Path) -> None:
    file = job / "letters.csv"
    before = file.read_bytes()
    with pytest.raises(UsageError) as refused:
        export_job(job / "out", file)
    assert str(refused.value) == f"`file` must not be an input of the job, but {file} is. Choose another name."
    assert file.read_bytes() == before


def test_an_input_that_is_itself_an_export_is_refused_and_its_namesake_is_not(job: Path, tmp_path: Path) -> None:
    first, same_name = tmp_path / "in" / "all.jsonl", tmp_path / "all.jsonl"
    first.parent.mkdir()
    export_job(job / "out", first)
    read = ReadConfig.model_validate({"fields": {"text": "status"}})
    run_job([first], tmp_path / "second", load_echo, read=read)
    with pytest.raises(UsageError, match="must not be an input of the job"):
        export_job(tmp_path / "second", first)
    for _ in range(2):
        assert export_job(tmp_path / "second", same_name) == 2


def test_a_matrix_of_vectors_is_replaced_with_its_ids_and_no_other_list_is(tmp_path: Path) -> None:
    file, rows = tmp_path / "all.npy", EmbeddingRows(3)
    for _ in range(2):
        refuse_stranger(file, NOTHING)
        export_vectors(file, rows, 0, ())
    ids = tmp_path / "all.npy.ids.jsonl"
    ids.write_text(json.dumps("d1") + "\n")
    refuse_stranger(file, NOTHING)
    ids.write_text('{"id": "d1", "text": "mine"}\n')
    with pytest.raises(UsageError) as refused:
        refuse_stranger(file, NOTHING)
    assert str(refused.value) == refusal(ids)

"""`verify_job` believes nothing but the bytes."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

from job_kit import load_echo, write_corpus, write_documents
from longdoc.errors import JobError
from longdoc.jobs import JobConfig, run_job, verify_job
from longdoc.jobs.identity import IdDigest
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.manifest import write_manifest
from longdoc.jobs.parts import write_part
from longdoc.types import DocumentPrediction


@pytest.fixture
def output(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 26)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JobConfig(documents_per_part=4))
    return tmp_path / "out"


def sentence(output):
    with pytest.raises(JobError) as caught:
        verify_job(output)
    return str(caught.value)


def test_a_whole_job_passes_without_its_inputs_and_wherever_it_lies(output, tmp_path):
    (tmp_path / "in.jsonl").unlink()
    output.rename(tmp_path / "moved")
    shutil.rmtree(tmp_path / "moved/.work")
    report = verify_job(tmp_path / "moved")
    assert (report.documents, report.failed, report.parts) == (26, 5, 7)
    assert report.reasons == {"empty": 3, "unreadable": 2}
    assert not (tmp_path / "moved/.work").exists(), "verifying writes nothing"


def test_a_job_without_a_manifest_is_not_complete(output):
    (output / "_manifest.json").unlink()
    (output / "part-00003.parquet").unlink()
    assert sentence(output) == f"{output} is not complete: 6 of 7 parts are done. Run the job again to go on."


@pytest.mark.parametrize("number", [0, 3, 6])
def test_the_first_faulty_part_is_named(output, number):
    for later in range(number, 7):
        path = output / f"part-0000{later}.parquet"
        path.write_bytes(path.read_bytes()[:100])
    assert sentence(output).startswith(f"{output}/part-0000{number}.parquet is damaged")


def test_a_missing_part_is_named(output):
    (output / "part-00002.parquet").unlink()
    assert sentence(output) == f"{output}/part-00002.parquet is missing. Run the job again to write it."


def test_parts_that_changed_places_are_found(output):
    first, second = output / "part-00000.parquet", output / "part-00001.parquet"
    first.rename(output / "x")
    second.rename(first)
    (output / "x").rename(second)
    assert sentence(output) == (
        f"{first} must have one row for each of its documents in plan order, but its ids differ."
    )


def test_a_changed_answer_is_found_by_the_hash(output):
    path = output / "part-00001.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(4, table.schema.field("score"), table.column("unknown_share")), path)
    assert sentence(output) == f"{path} is not the file that _manifest.json names: its sha256 differs."


@pytest.mark.parametrize(
    ("change", "end"),
    [
        (lambda tree: tree | {"documents": 25}, "must agree with the parts, but its counts or names differ."),
        (lambda tree: tree | {"failed": 0}, "must agree with the parts, but its counts or names differ."),
        (lambda tree: tree | {"reasons": {}}, "must agree with the parts, but its counts or names differ."),
        (lambda tree: tree | {"plan": "0" * 64}, "must agree with the parts, but its counts or names differ."),
        (
            lambda tree: tree | {"parts": [*tree["parts"], tree["parts"][0]]},
            "must agree with the parts, but its counts or names differ.",
        ),
        (
            lambda tree: tree | {"schema_version": 2},
            "has schema version 2, but this longdoc reads version 1. Use the longdoc that wrote it, or a newer one.",
        ),
        (
            lambda tree: tree | {"parts": [{}]},
            "is damaged (KeyError). Run the job again to write it anew.",
        ),
    ],
)
def test_a_manifest_that_does_not_fit_is_found(output, change, end):
    path = output / "_manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    assert sentence(output) == f"{path} {end}"


def test_a_part_too_many_is_found(output):
    shutil.copy(output / "part-00000.parquet", output / "part-00007.parquet")
    assert sentence(output) == f"{output} must hold no parts but those of its plan, but holds part-00007.parquet."


def test_other_files_beside_the_parts_do_no_harm(output):
    (output / "notes.md").write_text("mine")
    (output / "all.jsonl").write_text("")
    assert verify_job(output).documents == 26


def test_a_document_that_is_in_two_parts_is_found_even_if_plan_and_manifest_agree(tmp_path):
    """A forged folder: every digest fits, and still one document is there twice."""
    digest = IdDigest()
    digest.add("a")
    digest.add("b")
    part = PartPlan(0, 0, 0, 2, 0, digest.hexdigest())
    plan = JobPlan({}, (), (part, PartPlan(1, 0, 0, 2, 0, digest.hexdigest())))
    output = tmp_path / "out"
    (output / ".work").mkdir(parents=True)
    (output / "_plan.json").write_bytes(plan.to_bytes())
    results = [DocumentPrediction(id="a"), DocumentPrediction(id="b")]
    write_manifest(output, plan, {p.number: write_part(output, plan, p, results) for p in plan.parts})
    assert sentence(output) == (
        f"{output} must hold each document once, but row 0 of part-00000.parquet and row 0 of part-00001.parquet are "
        "one document."
    )


def test_a_folder_that_is_no_job_is_said_to_be_none(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["a"])
    assert sentence(tmp_path) == f"{tmp_path} is not the folder of a job: it has no _plan.json."

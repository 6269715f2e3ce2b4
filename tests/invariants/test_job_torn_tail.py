"""A file that was cut short by a crash is never appended to and never skipped (field report B100)."""

from __future__ import annotations

import json

import pytest

from job_kit import final_files, load_echo, write_documents
from longdoc.errors import JobError
from longdoc.jobs import JobConfig, export_job, run_job, verify_job

JOB = JobConfig(documents_per_part=3)


@pytest.fixture
def job(tmp_path):
    """A complete job over texts and ids with characters of four bytes."""
    ids = [f"\U0001f600-{number}-é" for number in range(9)]
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"id": each, "text": f"text of {each}"}, ensure_ascii=False) + "\n" for each in ids),
        encoding="utf-8",
    )
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JOB)
    return tmp_path / "in.jsonl", tmp_path / "out", ids


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("cut", [0, 1, 4, 100, 0.3, 0.5, 0.9, -8, -4, -1])
def test_a_part_that_was_cut_is_done_again_and_the_others_are_kept(job, part, cut):
    source, output, _ = job
    whole = final_files(output)
    path = output / f"part-0000{part}.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)] if isinstance(cut, float) else data[:cut])
    kept = {p.name: p.stat().st_mtime_ns for p in output.glob("part-*") if p != path}
    with pytest.raises(JobError, match=f"{path.name} is damaged"):
        verify_job(output)
    with pytest.raises(JobError, match=f"{path.name} is damaged"):
        export_job(output, output / "all.jsonl")
    report = run_job([source], output, load_echo, job=JOB)
    assert (report.reused_parts, report.written_parts) == (2, 1)
    assert {p.name: p.stat().st_mtime_ns for p in output.glob("part-*") if p != path} == kept
    assert final_files(output) == whole


def test_a_finished_part_is_kept_when_the_job_was_killed_right_after_it(job):
    source, output, _ = job
    whole = final_files(output)
    (output / "_manifest.json").unlink()
    (output / "part-00002.parquet").unlink()
    assert run_job([source], output, load_echo, job=JOB).reused_parts == 2
    assert final_files(output) == whole


@pytest.mark.parametrize("place", ["inside a line", "inside a character", "before the last newline", "after it"])
def test_an_export_over_a_torn_file_is_whole(job, place):
    _, output, ids = job
    target = output / "all.jsonl"
    export_job(output, target)
    whole = target.read_bytes()
    emoji = "\U0001f600".encode()
    cuts = {
        "inside a line": len(whole) - 20,
        "inside a character": whole.rindex(emoji) + 2,
        "before the last newline": len(whole) - 1,
        "after it": len(whole),
    }
    target.write_bytes(whole[: cuts[place]])
    assert export_job(output, target) == 9
    assert target.read_bytes() == whole
    assert [json.loads(line)["id"] for line in target.read_text(encoding="utf-8").splitlines()] == ids


@pytest.mark.parametrize("cut", [5, -1, -2, -3, -20])
def test_an_input_whose_last_line_is_torn_has_a_row_for_it_and_a_mended_one_is_another_job(tmp_path, cut):
    ids = write_documents(tmp_path / "in.jsonl", ["one", "two", "three"])
    data = (tmp_path / "in.jsonl").read_bytes()
    lines = data[:cut].count(b"\n") + 1
    (tmp_path / "in.jsonl").write_bytes(data[:cut])
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JOB)
    export_job(tmp_path / "out", tmp_path / "all.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(rows) == lines
    torn = cut != -1  # without its newline the last line is still whole
    assert [row["id"] for row in rows] == [*ids[: lines - torn], *([f"in.jsonl:{lines}"] if torn else [])]
    assert [row["status"] for row in rows] == ["ok"] * (lines - torn) + ["failed"] * torn
    (tmp_path / "in.jsonl").write_bytes(data)
    with pytest.raises(JobError, match=r"the content of in\.jsonl has changed"):
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=JOB)

"""A job from its inputs to its manifest, in one process."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from job_kit import EchoPredictor, final_files, load_echo, write_corpus, write_documents
from longdoc.errors import (
    ConfigurationError,
    InterruptedJobError,
    JobError,
    LongDocError,
    PlanMismatchError,
)
from longdoc.jobs import JobConfig, JobPlan, JobReport, export_job, run_job, verify_job
from longdoc.jobs.folder import locked
from longdoc.jobs.parts import read_part

SIZE = JobConfig(documents_per_part=4, max_failures=100)


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "in.jsonl", 26), tmp_path / "in.jsonl"


def states(output: Path) -> dict[str, tuple[int, int]]:
    return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in sorted(output.rglob("*"))}


def test_every_document_has_its_row_in_input_order(corpus, tmp_path):
    ids, source = corpus
    report = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert report == JobReport(
        documents=26, failed=5, reused_parts=0, written_parts=7, exit_status=0, reasons=report.reasons
    )
    assert sum(report.reasons.values()) == 5
    rows = [row for part in sorted((tmp_path / "out").glob("part-*")) for row in read_part(part).to_pylist()]
    assert [row["id"] for row in rows] == ids
    assert verify_job(tmp_path / "out").documents == 26


def test_the_manifest_says_what_is_there(corpus, tmp_path):
    _, source = corpus
    report = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    manifest = json.loads((tmp_path / "out/_manifest.json").read_bytes())
    files = final_files(tmp_path / "out")
    assert {part["name"]: part["sha256"] for part in manifest["parts"]} == {
        name: digest for name, digest in files.items() if name.startswith("part-")
    }
    assert [part["documents"] for part in manifest["parts"]] == [4, 4, 4, 4, 4, 4, 2]
    assert sum(part["failed"] for part in manifest["parts"]) == manifest["failed"] == 5
    assert manifest["reasons"] == report.reasons
    assert (manifest["documents"], manifest["schema_version"]) == (26, 1)


@pytest.mark.parametrize(("max_failures", "status"), [(0, 3), (4, 3), (5, 0), (6, 0)])
def test_more_failures_than_allowed_end_with_status_3_though_the_job_is_complete(
    corpus, tmp_path, max_failures, status
):
    _, source = corpus
    report = run_job([source], tmp_path / "out", load_echo, job=JobConfig(max_failures=max_failures))
    assert report.exit_status == status
    assert verify_job(tmp_path / "out").failed == 5


def test_a_finished_job_run_again_writes_nothing_at_all(corpus, tmp_path):
    _, source = corpus
    first = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    before = states(tmp_path / "out")
    again = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert states(tmp_path / "out") == before
    assert (again.documents, again.failed, again.reasons) == (first.documents, first.failed, first.reasons)
    assert (again.reused_parts, again.written_parts) == (7, 0)


def test_a_finished_job_does_not_load_the_model_when_its_fingerprint_is_known(corpus, tmp_path):
    _, source = corpus
    run_job([source], tmp_path / "out", load_echo, job=SIZE)

    def load():
        pytest.fail("the model was loaded")

    run_job([source], tmp_path / "out", load, job=SIZE, fingerprint=EchoPredictor.fingerprint)


def test_a_fingerprint_that_is_not_the_predictors_is_refused(corpus, tmp_path):
    _, source = corpus
    with pytest.raises(PlanMismatchError) as caught:
        run_job([source], tmp_path / "out", load_echo, job=SIZE, fingerprint="another")
    assert str(caught.value) == (
        "the predictor must be the one that the job was planned with, but its fingerprint differs. The model or how it "
        "predicts has changed: name another output folder."
    )


@pytest.mark.parametrize("kept", [(), (0,), (3,), (0, 1, 2, 3, 4, 5, 6), (1, 4, 6)])
def test_a_job_goes_on_with_any_set_of_finished_parts_and_ends_with_the_same_bytes(corpus, tmp_path, kept):
    _, source = corpus
    run_job([source], tmp_path / "whole", load_echo, job=SIZE)
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    (tmp_path / "out/_manifest.json").unlink()
    for number in set(range(7)) - set(kept):
        (tmp_path / f"out/part-0000{number}.parquet").unlink()
    before = states(tmp_path / "out")
    report = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert (report.reused_parts, report.written_parts) == (len(kept), 7 - len(kept))
    after = states(tmp_path / "out")
    for number in kept:
        assert after[f"part-0000{number}.parquet"] == before[f"part-0000{number}.parquet"]
    assert final_files(tmp_path / "out") == final_files(tmp_path / "whole")


def test_a_damaged_part_is_done_again_even_after_the_job_was_complete(corpus, tmp_path, caplog):
    _, source = corpus
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    whole = final_files(tmp_path / "out")
    path = tmp_path / "out/part-00002.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    report = run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert (report.reused_parts, report.written_parts) == (6, 1)
    assert final_files(tmp_path / "out") == whole
    assert "part-00002.parquet is damaged: it is done again" in caplog.text


def test_a_damaged_manifest_is_written_anew(corpus, tmp_path):
    _, source = corpus
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    whole = final_files(tmp_path / "out")
    (tmp_path / "out/_manifest.json").write_text('{"schema_version": 1, "parts": [')
    assert run_job([source], tmp_path / "out", load_echo, job=SIZE).written_parts == 0
    assert final_files(tmp_path / "out") == whole


def test_parts_that_the_plan_does_not_know_are_refused(corpus, tmp_path):
    _, source = corpus
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    (tmp_path / "out/part-00007.parquet").write_bytes((tmp_path / "out/part-00000.parquet").read_bytes())
    with pytest.raises(JobError) as caught:
        run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert str(caught.value) == (
        f"{tmp_path / 'out'} must hold no parts but those of its plan, but holds part-00007.parquet. Remove it, or "
        "name another output folder."
    )


def test_a_folder_of_somebody_else_is_refused_and_left_alone(corpus, tmp_path):
    _, source = corpus
    (tmp_path / "out").mkdir()
    (tmp_path / "out/novel.txt").write_text("mine")
    with pytest.raises(JobError, match="holds 1 other files"):
        run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["novel.txt"]


@pytest.mark.parametrize("fault", ["no input", "foreign folder"])
def test_what_can_be_refused_at_once_is_refused_before_the_model_is_loaded(corpus, tmp_path, fault):
    _, source = corpus

    def load():
        pytest.fail("the model was loaded")

    if fault == "foreign folder":
        (tmp_path / "out").mkdir()
        (tmp_path / "out/novel.txt").write_text("mine")
    with pytest.raises(LongDocError):
        run_job([source if fault != "no input" else tmp_path / "absent.jsonl"], tmp_path / "out", load)


def test_a_second_run_is_refused_while_the_first_is_at_work(corpus, tmp_path):
    _, source = corpus
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    (tmp_path / "out/_manifest.json").unlink()
    with locked(tmp_path / "out/.work"), pytest.raises(JobError, match="is being written by another run"):
        run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert run_job([source], tmp_path / "out", load_echo, job=SIZE).reused_parts == 7


def test_leftovers_of_a_killed_run_are_swept_away(corpus, tmp_path):
    _, source = corpus
    (tmp_path / "out/.work").mkdir(parents=True)
    (tmp_path / "out/.work/.part-00001.parquet.1.tmp").write_bytes(b"half")
    run_job([source], tmp_path / "out", load_echo, job=SIZE)
    assert sorted(path.name for path in (tmp_path / "out/.work").iterdir()) == ["attempts.json", "lock"]


def test_a_source_that_changes_while_the_job_runs_spoils_the_job(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])

    def load():
        write_documents(tmp_path / "in.jsonl", ["one", "TWO"])
        return EchoPredictor()

    with pytest.raises(PlanMismatchError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load, job=SIZE, fingerprint=EchoPredictor.fingerprint)
    assert str(caught.value) == (
        "in.jsonl has changed while the job ran, so 1 parts that this run made of it were removed. Put it back to go "
        "on, or start again in another folder."
    )
    assert list((tmp_path / "out").glob("part-*")) == []
    assert not (tmp_path / "out/_manifest.json").exists()


@pytest.mark.parametrize("kind", ["file of one document", "file of many"])
def test_a_file_that_is_away_for_a_while_never_leaves_a_failed_row(tmp_path, kind):
    if kind == "file of many":
        write_documents(tmp_path / "in.jsonl", ["one", "two"])
    (tmp_path / "in.txt").write_text("three")
    inputs = sorted(tmp_path.glob("in.*"))
    away = inputs[0]

    def load():
        away.rename(tmp_path / "away")
        return EchoPredictor()

    with pytest.raises(PlanMismatchError):
        run_job(inputs, tmp_path / "out", load, job=SIZE, fingerprint=EchoPredictor.fingerprint)
    (tmp_path / "away").rename(away)
    assert run_job(inputs, tmp_path / "out", load_echo, job=SIZE).failed == 0
    assert verify_job(tmp_path / "out").failed == 0


def test_a_source_that_was_only_touched_spoils_nothing(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])

    def load():
        os.utime(tmp_path / "in.jsonl", (1, 1))
        return EchoPredictor()

    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load, job=SIZE, fingerprint=EchoPredictor.fingerprint)
    assert verify_job(tmp_path / "out").documents == 2


def test_a_corpus_without_documents_is_a_complete_job(tmp_path):
    (tmp_path / "in.jsonl").write_text("")
    report = run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo)
    assert (report.documents, report.written_parts, report.exit_status) == (0, 0, 0)
    assert verify_job(tmp_path / "out").documents == 0
    assert run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo).exit_status == 0


def test_an_unknown_engine_is_refused_before_anything_is_written(corpus, tmp_path):
    _, source = corpus
    with pytest.raises(ConfigurationError) as caught:
        run_job([source], tmp_path / "out", load_echo, job=JobConfig(engine="abacus"))
    assert str(caught.value) == "`job.engine` must be one of local, accelerate, ray, but is abacus instead."
    assert not (tmp_path / "out").exists()


def test_progress_counts_up_to_the_whole_and_ends_with_the_true_numbers(corpus, tmp_path):
    _, source = corpus
    seen = []
    run_job([source], tmp_path / "out", load_echo, job=SIZE, progress=lambda *counts: seen.append(counts))
    assert seen[0] == (0, 26, 0)
    assert seen[-1] == (26, 26, 5)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    assert {total for _, total, _ in seen} == {26}
    seen.clear()
    run_job([source], tmp_path / "out", load_echo, job=SIZE, progress=lambda *counts: seen.append(counts))
    assert seen == [(26, 26, 5)]


class Signalling(EchoPredictor):
    """Sends a signal to this process when it meets the document `doc-000005`."""

    def __init__(self, number, times=1):
        super().__init__()
        self.number, self.times = number, times

    def stream(self, documents):
        for result in super().stream(documents):
            if result.id == "doc-000005":
                for _ in range(self.times):
                    signal.raise_signal(self.number)
            yield result


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_part_in_work_finish_and_the_same_command_goes_on(corpus, tmp_path, number):
    _, source = corpus
    run_job([source], tmp_path / "whole", load_echo, job=SIZE)
    before = signal.getsignal(number)
    with pytest.raises(InterruptedJobError) as caught:
        run_job([source], tmp_path / "out", lambda: Signalling(number), job=SIZE)
    assert signal.getsignal(number) is before
    assert caught.value.exit_status == 75
    assert str(caught.value) == (
        f"the job in {tmp_path / 'out'} was interrupted: 2 of 7 parts are done. Run the same command again to go on."
    )
    assert sorted(path.name for path in (tmp_path / "out").glob("part-*")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert run_job([source], tmp_path / "out", load_echo, job=SIZE).reused_parts == 2
    assert final_files(tmp_path / "out") == final_files(tmp_path / "whole")


def test_a_second_signal_stops_at_once(corpus, tmp_path):
    _, source = corpus
    with pytest.raises(InterruptedJobError) as caught:
        run_job([source], tmp_path / "out", lambda: Signalling(signal.SIGINT, times=2), job=SIZE)
    assert caught.value.exit_status == 75
    assert str(caught.value) == (
        f"the job in {tmp_path / 'out'} was interrupted at once. Finished parts are kept: run the same command again."
    )
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-00000.parquet"]


def test_a_signal_before_the_work_begins_stops_at_once(corpus, tmp_path):
    _, source = corpus

    def load():
        signal.raise_signal(signal.SIGTERM)
        return EchoPredictor()

    with pytest.raises(InterruptedJobError):
        run_job([source], tmp_path / "out", load, job=SIZE)
    assert not (tmp_path / "out").exists()


def test_a_job_runs_outside_the_main_thread_too(corpus, tmp_path):
    _, source = corpus
    reports = []
    thread = threading.Thread(target=lambda: reports.append(run_job([source], tmp_path / "out", load_echo, job=SIZE)))
    thread.start()
    thread.join()
    assert reports[0].documents == 26


def test_a_finished_job_needs_no_right_to_write(corpus, tmp_path, monkeypatch):
    _, source = corpus
    output = tmp_path / "out"
    first = run_job([source], output, load_echo, job=SIZE, configuration="job: {workers: 1}\n")
    shutil.rmtree(output / ".work")
    before = states(output)
    for name in ("mkdir", "open", "replace", "fsync", "unlink"):
        refuse = getattr(os, name)

        def guarded(path, *arguments, call=refuse, **more):
            assert not str(path).startswith(str(output)), "the folder of a finished job is written to"
            return call(path, *arguments, **more)

        monkeypatch.setattr(os, name, guarded)
    again = run_job([source], output, load_echo, job=SIZE, configuration="job: {workers: 2}\n")
    monkeypatch.undo()
    assert (first.found_complete, again.found_complete) == (False, True)
    assert (again.written_parts, again.reused_parts, again.exit_status) == (0, 7, 0)
    assert states(output) == before


def test_the_configuration_is_there_before_the_plan_and_follows_the_run_that_goes_on(corpus, tmp_path, monkeypatch):
    _, source = corpus
    output = tmp_path / "out"
    renamed = []
    replace = os.replace

    def noting(old, new):
        renamed.append(Path(new).name)
        replace(old, new)

    monkeypatch.setattr(os, "replace", noting)
    run_job([source], output, load_echo, job=SIZE, configuration="first\n")
    assert renamed[:2] == ["config.resolved.yaml", "_plan.json"]
    assert renamed.count("config.resolved.yaml") == 1
    files = final_files(output)
    (output / "part-00003.parquet").unlink()
    run_job([source], output, load_echo, job=SIZE, configuration="second\n")
    assert (output / ".work" / "config.resolved.yaml").read_text() == "second\n"
    (output / "part-00003.parquet").unlink()
    with pytest.raises(PlanMismatchError):
        run_job([source], output, load_echo, job=JobConfig(documents_per_part=5), configuration="of another job\n")
    run_job([source], output, load_echo, job=SIZE)
    assert (output / ".work" / "config.resolved.yaml").read_text() == "second\n"
    assert final_files(output) == files


@pytest.mark.parametrize("workers", [1, 2])
def test_an_input_that_ends_early_never_makes_a_complete_job(tmp_path, workers, caplog):
    """Nobody knows how many documents are missing: that is not finished, however many failures are allowed."""
    lines = "".join(f'{{"id": "r{n:03}", "text": "{n * 7919 % 1000003} words"}}\n' for n in range(400))
    data = gzip.compress(lines.encode())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": "whole", "text": "one more"}\n')
    (tmp_path / "in" / "logs.jsonl.gz").write_bytes(data[: int(0.6 * len(data))])
    job = JobConfig(documents_per_part=64, max_failures=1000, workers=workers)
    output = tmp_path / "out"
    report = run_job([tmp_path / "in"], output, load_echo, job=job)
    assert (report.exit_status, report.cut_sources, report.failed) == (3, ("logs.jsonl.gz",), 1)
    assert "1 of 2 inputs cannot be read to the end: the job will not be complete" in caplog.text
    rows = [row for part in sorted(output.glob("part-*")) for row in read_part(part).to_pylist()]
    assert [row["id"] for row in rows[:-1]] == ["whole", *(f"r{n:03}" for n in range(len(rows) - 2))]
    assert rows[-1]["id"] == rows[-1]["detail"].split()[0] == f"logs.jsonl.gz:{len(rows) - 1}"
    assert not (output / "_manifest.json").exists()
    files = final_files(output)
    again = run_job([tmp_path / "in"], output, load_echo, job=job)
    assert (again.exit_status, again.written_parts, again.found_complete) == (3, 0, False)
    assert final_files(output) == files
    message = (
        f"{output} is not complete: logs.jsonl.gz could not be read to the end, so documents are missing. Replace or "
        "leave out what is damaged, and run the job again in another folder."
    )
    for use in (verify_job, lambda folder: export_job(folder, tmp_path / "rows.csv")):
        with pytest.raises(JobError) as refused:
            use(output)
        assert str(refused.value) == message
    assert JobPlan.read_back(output).cut_sources == ("logs.jsonl.gz",)


def test_a_source_that_was_refused_as_a_whole_is_one_failure_of_a_complete_job(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a text")
    (tmp_path / "in" / "b.txt.gz").write_bytes(b"no gzip")
    (tmp_path / "in" / "c.xyz").write_text("no type")
    (tmp_path / "in" / "d.jsonl").symlink_to("d.jsonl")
    report = run_job([tmp_path / "in"], tmp_path / "out", load_echo, job=JobConfig(max_failures=3))
    assert (report.exit_status, report.cut_sources) == (0, ())
    assert report.reasons == {"path_escape": 1, "unreadable": 1, "unsupported_type": 1}
    assert verify_job(tmp_path / "out").documents == 4

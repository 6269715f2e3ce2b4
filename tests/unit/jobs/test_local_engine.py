"""Workers that die, hang on to nothing, and documents that kill."""

from __future__ import annotations

import logging
import os
import signal
from functools import partial

import pytest

from job_kit import KILLS, RAISES, EchoPredictor, final_files, load_echo, write_corpus, write_documents
from longdoc.errors import CheckpointError, JobError, PlanMismatchError, UsageError
from longdoc.jobs import JobConfig, run_job, verify_job
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.parts import read_part


class OtherPredictor(EchoPredictor):
    fingerprint = "another model"


def load_other_in_workers(parent: int) -> EchoPredictor:
    return EchoPredictor() if os.getpid() == parent else OtherPredictor()


def load_with_fault_in_workers(parent: int) -> EchoPredictor:
    if os.getpid() != parent:
        raise CheckpointError("the folder has no model.safetensors.")
    return EchoPredictor()


def load_with_secret_in_workers(parent: int, secret: str) -> EchoPredictor:
    if os.getpid() != parent:
        raise ValueError(secret)
    return EchoPredictor()


def load_only_in(parent: int) -> EchoPredictor:
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return EchoPredictor()


def rows(output):
    return [row for part in sorted(output.glob("part-*")) for row in read_part(part).to_pylist()]


def job(workers, size=3, **settings):
    return JobConfig(workers=workers, documents_per_part=size, **settings)


def test_two_workers_write_the_bytes_of_one(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 40)
    run_job([tmp_path / "in.jsonl"], tmp_path / "one", load_echo, job=job(1))
    seen = []
    report = run_job(
        [tmp_path / "in.jsonl"], tmp_path / "two", load_echo, job=job(2), progress=lambda *counts: seen.append(counts)
    )
    assert report.written_parts == 14
    assert final_files(tmp_path / "two") == final_files(tmp_path / "one")
    assert seen[-1] == (40, 40, report.failed)


def test_a_document_that_kills_fails_alone_and_its_neighbours_are_answered(tmp_path, caplog):
    texts = [f"text {number}" for number in range(8)]
    texts[4] = KILLS + " with a secret"
    texts[6] = RAISES + " with a secret"
    write_documents(tmp_path / "in.jsonl", texts)
    report = run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=job(2, max_attempts=2))
    assert report.reasons == {"unreadable": 1, "worker_died": 1}
    found = rows(tmp_path / "out")
    assert [row["id"] for row in found] == [str(number) for number in range(8)]
    assert [row["status"] for row in found] == ["ok", "ok", "ok", "ok", "failed", "ok", "failed", "ok"]
    assert (found[4]["reason"], found[4]["stage"], found[4]["error"]) == ("worker_died", "predict", "SIGKILL")
    assert verify_job(tmp_path / "out").documents == 8
    assert "a worker died of SIGKILL in part-00001.parquet for the second time" in caplog.text
    assert caplog.text.count("document 1 of part-00001.parquet, run alone, killed its worker: SIGKILL") == 2
    assert "secret" not in caplog.text


def test_a_part_that_was_at_work_when_the_job_died_twice_is_run_by_a_worker_that_may_die(tmp_path, caplog):
    """With one worker a deadly document takes the job with it; the third run finds it all the same."""
    caplog.set_level(logging.INFO)
    write_documents(tmp_path / "in.jsonl", ["one", KILLS, "three", "four"])
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", [0, 1]).start(0)
    report = run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=job(1))
    assert report.reasons == {"worker_died": 1}
    assert [row["status"] for row in rows(tmp_path / "out")] == ["ok", "failed", "ok", "ok"]
    assert caplog.text.index("part-00001.parquet: 1 documents") < caplog.text.index("killed its worker"), (
        "suspects last"
    )


def test_a_suspected_part_without_a_deadly_document_has_the_same_bytes(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 12)
    run_job([tmp_path / "in.jsonl"], tmp_path / "whole", load_echo, job=job(1))
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", range(4)).start(2)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=job(1))
    assert final_files(tmp_path / "out") == final_files(tmp_path / "whole")


def test_a_document_that_took_the_whole_job_down_ten_times_is_given_up(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "takes the machine down", "three"])
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", [0]).start(0)
    for _ in range(10):
        Attempts.load(tmp_path / "out/.work", [0]).start_document(0, 1)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=job(1))
    found = rows(tmp_path / "out")
    assert [row["reason"] for row in found] == [None, "worker_died", None]
    assert found[1]["error"] is None


@pytest.mark.crash
def test_when_no_worker_can_be_started_a_suspected_part_is_run_in_line(tmp_path, caplog):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", [0]).start(0)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", partial(load_only_in, os.getpid()), job=job(1))
    assert [row["status"] for row in rows(tmp_path / "out")] == ["ok", "ok"]
    assert "part-00000.parquet is run without a guard: no worker process can be started" in caplog.text


def test_a_loader_that_cannot_be_sent_still_runs_a_suspected_part(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", [0]).start(0)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", lambda: EchoPredictor(), job=job(1))
    assert [row["status"] for row in rows(tmp_path / "out")] == ["ok", "ok"]


def test_a_loader_that_cannot_be_sent_is_refused_with_several_workers(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one"])
    with pytest.raises(UsageError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", lambda: EchoPredictor(), job=job(2))
    assert str(caught.value) == (
        "`workers` is 2, so `load` must be a function at the top of a module (or a partial of one), but it cannot be "
        "sent to another process. Move it there, or set `workers` to 1."
    )


@pytest.mark.crash
def test_workers_that_all_die_while_loading_stop_the_job(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    with pytest.raises(JobError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", partial(load_only_in, os.getpid()), job=job(2, size=1))
    assert str(caught.value) == (
        "5 workers in a row died while they loaded the model (the last of SIGKILL). Lower `workers` if memory is "
        "short; a script that starts a job needs `if __name__ == '__main__':`."
    )


def test_an_error_of_ours_in_a_worker_is_the_jobs_error(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    load = partial(load_with_fault_in_workers, os.getpid())
    with pytest.raises(CheckpointError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load, job=job(2, size=1))
    assert str(caught.value) == "the folder has no model.safetensors."


def test_a_foreign_error_in_a_worker_crosses_without_its_message(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    load = partial(load_with_secret_in_workers, os.getpid(), "a secret")
    with pytest.raises(JobError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load, job=job(2, size=1))
    assert str(caught.value) == "a worker stopped with ValueError. Nothing was lost."
    assert caught.value.__cause__ is None


def test_a_worker_with_another_model_is_refused(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    load = partial(load_other_in_workers, os.getpid())
    with pytest.raises(PlanMismatchError, match="its fingerprint differs"):
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load, job=job(2, size=1))
    assert list((tmp_path / "out").glob("part-*")) == []


@pytest.mark.crash
def test_documents_that_all_kill_stop_the_job_instead_of_failing_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("longdoc.jobs.engines.isolation._DEADLY_IN_A_ROW", 2)
    write_documents(tmp_path / "in.jsonl", [KILLS, KILLS, KILLS, "fine"])
    deadly = job(2, size=5, max_attempts=1)
    with pytest.raises(JobError) as caught:
        run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=deadly)
    assert str(caught.value) == (
        "2 documents in a row of part-00000.parquet killed their worker, each 1 times. The machine rather than the "
        "documents is at fault: look for memory. The same command goes on from here."
    )
    assert run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=deadly).reasons == {"worker_died": 3}


def test_no_worker_is_left_behind(tmp_path):
    psutil = pytest.importorskip("psutil")
    write_documents(tmp_path / "in.jsonl", [f"text {number}" for number in range(6)])
    earlier = psutil.Process().children(recursive=True)  # what other tests have started
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo, job=job(2, size=1))
    children = [child for child in psutil.Process().children(recursive=True) if child not in earlier]
    ended = [child for child in children if child.status() == psutil.STATUS_ZOMBIE]
    assert ended == [], "nobody has waited for it"
    workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    assert workers == []


def test_the_engine_of_a_launch_started_alone_runs_a_suspected_part_whose_loader_cannot_be_sent(tmp_path):
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    (tmp_path / "out/.work").mkdir(parents=True)
    for _ in range(2):
        Attempts.load(tmp_path / "out/.work", [0]).start(0)
    alone = JobConfig(engine="accelerate", documents_per_part=3)
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", lambda: EchoPredictor(), job=alone)
    assert [row["status"] for row in rows(tmp_path / "out")] == ["ok", "ok"]

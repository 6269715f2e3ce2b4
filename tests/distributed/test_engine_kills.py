"""Workers and jobs of the engines with processes are killed, stopped, asked to stop: a reason, and the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from job_kit import final_files, load_echo, write_corpus
from longdoc.jobs import JobConfig, run_job, verify_job

pytest.importorskip("psutil", reason="the processes of a job are found with psutil")

from engine_kit import Job, all_gone

pytestmark = pytest.mark.distributed
NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed; it is in the extra `ray`")
BOTH = pytest.mark.parametrize("engine", ["accelerate", pytest.param("ray", marks=NEEDS_RAY)])
DOCUMENTS, DELAY = 64, 0.2


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The input, and the final files of a run in one process."""
    source = tmp_path / "in.jsonl"
    write_corpus(source, DOCUMENTS)
    run_job([source], tmp_path / "whole", load_echo, job=JobConfig(documents_per_part=4, max_failures=100))
    return source, final_files(tmp_path / "whole")


def goes_on(engine: str, source: Path, output: Path, expected: dict[str, str]) -> None:
    """The same command ends the job, and its files are those of an undisturbed run."""
    assert not (output / "_manifest.json").exists()
    with Job(engine, source, output, 0) as job:
        status, said = job.finish()
    assert status == 0, said
    assert final_files(output) == expected
    assert verify_job(output).documents == DOCUMENTS


@NEEDS_RAY
def test_two_workers_of_ray_write_the_bytes_of_one_process_and_ray_leaves_nothing(whole, tmp_path):
    source, expected = whole
    with Job("ray", source, tmp_path / "out", 0) as job:
        status, said = job.finish()
    assert status == 0, said
    assert final_files(tmp_path / "out") == expected
    assert said.splitlines()[0].startswith(f"JobReport(documents={DOCUMENTS}, "), "Ray prints nothing"
    assert "raylet" not in said
    assert list(Path(tempfile.gettempdir()).glob("ldray-*")) == [], "nor has it left a folder"


@NEEDS_RAY
def test_ray_goes_on_by_itself_when_workers_are_killed(whole, tmp_path):
    source, expected = whole
    with Job("ray", source, tmp_path / "out", DELAY) as job:
        for worker in job.wait_until_at_work():
            worker.kill()
        status, said = job.finish()
    assert status == 0, said
    assert "a worker died of ActorDiedError in part-" in said
    assert final_files(tmp_path / "out") == expected


def test_a_launch_that_loses_a_process_ends_and_goes_on_by_the_same_command(whole, tmp_path):
    source, expected = whole
    with Job("accelerate", source, tmp_path / "out", DELAY) as job:
        job.wait_until_at_work()[0].kill()
        others = job.everybody()
        status, said = job.finish()
    assert status != 0
    assert "Signal 9 (SIGKILL) received by PID" in said
    assert all_gone(others)
    goes_on("accelerate", source, tmp_path / "out", expected)


@BOTH
def test_a_job_killed_with_all_its_group_goes_on_by_the_same_command(whole, tmp_path, engine):
    source, expected = whole
    with Job(engine, source, tmp_path / "out", DELAY) as job:
        job.wait_until_at_work()
        others = job.everybody()
        job.kill_group()
    assert all_gone(others), "none of them outlives the job for long"
    goes_on(engine, source, tmp_path / "out", expected)


@BOTH
def test_a_job_that_is_asked_to_stop_ends_its_parts_and_goes_on_by_the_same_command(whole, tmp_path, engine):
    source, expected = whole
    with Job(engine, source, tmp_path / "out", DELAY) as job:
        job.wait_until_at_work()
        others = job.everybody()
        os.killpg(job.process.pid, signal.SIGTERM)  # as a scheduler does: everybody gets it
        status, said = job.finish()
    assert "InterruptedJobError: the job in " in said
    assert status == 75 if engine == "ray" else status != 0, "the launcher has a status of its own"
    assert all_gone(others)
    assert "SIGKILL" not in said
    goes_on(engine, source, tmp_path / "out", expected)


@BOTH
def test_workers_that_stand_still_end_the_job_with_the_reason(whole, tmp_path, engine):
    source, expected = whole
    with Job(engine, source, tmp_path / "out", DELAY, stall_minutes=0.15) as job:
        others = job.everybody()
        for worker in job.wait_until_at_work():
            worker.suspend()
            others.append(worker)
        status, said = job.finish()
    assert status == 75 if engine == "ray" else status != 0, "the launcher has a status of its own"
    assert "JobError: no worker has shown a sign of work for 0.15 minutes while the job waited for " in said
    assert all_gone(others)
    goes_on(engine, source, tmp_path / "out", expected)


@pytest.mark.crash
@BOTH
def test_a_job_killed_at_random_moments_ends_with_the_same_bytes(whole, tmp_path, engine):
    source, expected = whole
    output = tmp_path / "out"
    chance = random.Random(time.time_ns())
    killed = {"group": 0, "worker": 0}
    while sum(killed.values()) < 6:
        with Job(engine, source, output, DELAY) as job:
            others = job.wait_until(lambda: list(output.glob("part-*")))
            job.wait_until(lambda: False, chance.uniform(0, 4))
            target = chance.choice(["group", "worker"])
            workers = job.workers()
            if job.process.poll() is None and target == "group":
                job.kill_group()
            elif job.process.poll() is None and workers:
                chance.choice(workers).kill()
                job.finish()
            else:
                job.finish()
                target = "nobody"
            assert all_gone(others)
        if target != "nobody":
            killed[target] += 1
        if (output / "_manifest.json").exists():
            assert final_files(output) == expected
            shutil.rmtree(output)
    with Job(engine, source, output, 0) as job:
        status, said = job.finish()
    assert status == 0, said
    assert final_files(output) == expected, killed

"""Kill a job at random moments, again and again: what it ends with is what an undisturbed run gives, byte for byte."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from crash_kit import PartReader, finish, kill_group, start

from job_kit import final_files, load_echo, write_corpus
from longdoc.jobs import JobConfig, run_job, verify_job

DOCUMENTS, SIZE, DELAY = 48, 4, 0.01


@pytest.fixture
def whole(tmp_path):
    """The input, and the final files of an undisturbed run."""
    write_corpus(tmp_path / "in.jsonl", DOCUMENTS)
    job = JobConfig(documents_per_part=SIZE)
    run_job([tmp_path / "in.jsonl"], tmp_path / "whole", load_echo, job=job)
    return tmp_path / "in.jsonl", final_files(tmp_path / "whole")


def kill_at_random(source, output, expected, kills, workers, seed):
    """Run and kill until `kills` runs were killed at work; a run that ends first is compared and begun anew."""
    chance = random.Random(seed)
    options = ("--workers", workers, "--size", SIZE, "--delay", DELAY)
    beginning = time.monotonic()
    status, _, err = finish(start(source, output, *options))
    assert status == 0, err
    duration = time.monotonic() - beginning
    assert final_files(output) == expected
    shutil.rmtree(output)
    killed, at_work = 0, 0
    with PartReader(output) as reader:
        while killed < kills:
            child = start(source, output, *options)
            try:
                child.wait(chance.uniform(0.15, duration))
            except subprocess.TimeoutExpired:
                kill_group(child)
                killed += 1
                at_work += (output / "_plan.json").exists() and not (output / "_manifest.json").exists()
            else:
                status, _, err = finish(child)
                assert status == 0, err
                assert final_files(output) == expected
                shutil.rmtree(output)
        status, _, err = finish(start(source, output, *options))
    assert status == 0, err
    assert final_files(output) == expected
    assert verify_job(output).documents == DOCUMENTS
    assert reader.faults == []
    assert reader.opened >= DOCUMENTS // SIZE
    return at_work


def test_a_job_killed_six_times_ends_with_the_bytes_of_an_undisturbed_run(whole, tmp_path):
    source, expected = whole
    kill_at_random(source, tmp_path / "out", expected, kills=6, workers=1, seed=time.time_ns())


@pytest.mark.crash
@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_killed_thirty_times_ends_with_the_bytes_of_an_undisturbed_run(whole, tmp_path, workers):
    source, expected = whole
    at_work = kill_at_random(source, tmp_path / "out", expected, kills=30, workers=workers, seed=time.time_ns())
    assert at_work > 0, "no kill hit a job at work: the times are wrong"


@pytest.mark.crash
def test_a_job_whose_workers_are_killed_one_by_one_goes_on_by_itself(whole, tmp_path):
    psutil = pytest.importorskip("psutil")
    source, expected = whole
    chance = random.Random(time.time_ns())
    options = ("--workers", 2, "--size", SIZE, "--delay", 0.2, "--max-attempts", 10)
    child = start(source, tmp_path / "out", *options)
    killed = 0
    while child.poll() is None and killed < 8:
        time.sleep(chance.uniform(0.5, 2.5))
        try:
            workers = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
            if workers:
                chance.choice(workers).kill()
                killed += 1
        except psutil.NoSuchProcess:
            continue
    status, out, err = finish(child)
    assert status == 0, err
    assert killed >= 4, out
    assert "a worker died of SIGKILL" in err
    assert final_files(tmp_path / "out") == expected


@pytest.mark.crash
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_job_that_is_asked_to_stop_ends_with_status_75_and_goes_on(whole, tmp_path, number, workers):
    source, expected = whole
    options = ("--workers", workers, "--size", SIZE)
    child = start(source, tmp_path / "out", *options, "--delay", 0.1)
    while not list((tmp_path / "out").glob("part-*")):
        time.sleep(0.01)
        assert child.poll() is None
    os.killpg(child.pid, number)  # as a terminal and as a scheduler do: everybody gets it
    status, _, err = finish(child)
    assert status == 75, err
    assert "InterruptedJobError" in err
    assert "Traceback" not in err
    assert not (tmp_path / "out/_manifest.json").exists()
    status, _, err = finish(start(source, tmp_path / "out", *options))
    assert status == 0, err
    assert final_files(tmp_path / "out") == expected

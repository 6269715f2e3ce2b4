"""Kill a job at random moments, again and again: what it ends with is what an undisturbed run gives, byte for byte."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from crash_kit import finish, kill_at_random, kill_one_worker, start

from job_kit import final_files, load_echo, write_corpus
from longdoc.jobs import JobConfig, run_job

DOCUMENTS, SIZE, DELAY = 48, 4, 0.01


@pytest.fixture
def whole(tmp_path):
    """The input, and the final files of an undisturbed run."""
    write_corpus(tmp_path / "in.jsonl", DOCUMENTS)
    job = JobConfig(documents_per_part=SIZE)
    run_job([tmp_path / "in.jsonl"], tmp_path / "whole", load_echo, job=job)
    return tmp_path / "in.jsonl", final_files(tmp_path / "whole")


def options_for(workers):
    return ("--workers", workers, "--size", SIZE, "--delay", DELAY, "--max-attempts", 1000)


@pytest.mark.crash
def test_a_job_killed_six_times_ends_with_the_bytes_of_an_undisturbed_run(whole, tmp_path):
    source, expected = whole
    happened = kill_at_random(source, tmp_path / "out", expected, options_for(1), kills=6, seed=time.time_ns())
    assert happened["group"] == 6
    assert happened["opened"] >= DOCUMENTS // SIZE


@pytest.mark.crash
@pytest.mark.parametrize(("workers", "share_of_workers"), [(1, 0.0), (2, 0.0), (2, 0.5)])
def test_a_job_killed_thirty_times_ends_with_the_bytes_of_an_undisturbed_run(
    whole, tmp_path, workers, share_of_workers
):
    source, expected = whole
    options = options_for(workers)
    happened = kill_at_random(source, tmp_path / "out", expected, options, 30, time.time_ns(), share_of_workers)
    assert happened["at work"] > 0, "no kill hit a job at work: the times are wrong"
    assert happened["compared"] >= 2


@pytest.mark.crash
def test_a_job_whose_workers_are_killed_one_by_one_goes_on_by_itself(whole, tmp_path):
    source, expected = whole
    chance = random.Random(time.time_ns())
    options = ("--workers", 2, "--size", SIZE, "--delay", 0.2, "--max-attempts", 10)
    child = start(source, tmp_path / "out", *options)
    killed, done = 0, 0
    while child.poll() is None and killed < 8:
        time.sleep(chance.uniform(0.5, 2.5))
        # Five deaths in a row of workers that never came to work end a job, and rightly so: some must come to work.
        parts = len(list((tmp_path / "out").glob("part-*")))
        if killed < 2 or parts > done:
            done = parts
            killed += kill_one_worker(child, chance)
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

"""The processes of one launch do one job: the bytes of one process, and a killed launch goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from job_kit import final_files, load_echo, write_corpus
from longdoc.jobs import JobConfig, run_job

CHILD = Path(__file__).resolve().parents[1] / "crash" / "job_child.py"
pytestmark = pytest.mark.distributed


def start(source: Path, output: Path, processes: int, delay: float) -> subprocess.Popen[str]:
    """A launch in a process group of its own. `--multi_gpu` is how Accelerate names several processes; none is used."""
    launch = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", processes, "--num_machines", 1,
              "--dynamo_backend", "no", "--mixed_precision", "no", "--main_process_port", 0,
              "--num_cpu_threads_per_process", 1]  # fmt: skip
    job = [CHILD, source, output, "--engine", "accelerate", "--size", 4, "--delay", delay]
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, launch), *map(str, job)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def finish(child: subprocess.Popen[str]) -> str:
    try:
        out, _ = child.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    assert child.returncode == 0, out
    return out


def test_two_processes_write_the_bytes_of_one_and_both_work(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    write_corpus(source, 48)
    run_job([source], tmp_path / "one", load_echo, job=JobConfig(documents_per_part=4, max_failures=100))
    told = finish(start(source, tmp_path / "two", 2, 0.1))
    assert final_files(tmp_path / "two") == final_files(tmp_path / "one")
    assert told.count("JobReport(documents=48, ") == 2, "both processes end with the report"
    assert not list((tmp_path / "two/.work").glob("at-work-*"))

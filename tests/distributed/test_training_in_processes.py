"""Fine-tuning in two processes gives what one gives, goes on after a stop, and ends where one has no document left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from safetensors.torch import load_file

from training_kit import lines

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("training_child.py")
LAUNCH = (sys.executable, "-m", "accelerate.commands.launch", "--config_file",
          str(ROOT / "configs" / "accelerate" / "two_cpu_processes.yaml"), "--main_process_port", "0",
          "--num_cpu_threads_per_process", "1")  # fmt: skip
pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("minilm_folder")]


def train(output: Path, processes: int, stop: int = 0, expect: int = 0) -> str:
    command = [*(LAUNCH if processes > 1 else (sys.executable,)), str(CHILD), str(output), str(stop)]
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (finished.returncode == 0) == (expect == 0), finished.stdout + finished.stderr
    assert finished.stdout.count(f"{processes} at work") == processes, "as many as were asked for"
    return finished.stdout


def measured(output: Path) -> list[dict[str, Any]]:
    return [line for line in lines(output) if "split" in line]


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    """Documents of 1 to 60 chunks on either process; in the last step of an epoch one of them has no document."""
    train(tmp_path / "one", 1)
    train(tmp_path / "two", 2)
    alone, together = lines(tmp_path / "one"), lines(tmp_path / "two")
    assert [line["step"] for line in together] == [1, 2, 3, 3, 4, 5, 6, 6], "three steps and a validation an epoch"
    for one, two in zip(alone, together, strict=True):
        assert one["step"] == two["step"]
        assert two["loss"] == pytest.approx(one["loss"], abs=1e-5)
        if "split" not in one:
            assert two["grad_norm"] == pytest.approx(one["grad_norm"], rel=1e-4)
    for one, two in zip(measured(tmp_path / "one"), measured(tmp_path / "two"), strict=True):
        assert (two["documents"], two["confusion"], two["tokens_read"]) == (5, one["confusion"], one["tokens_read"])
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    # A hundredth of what six steps can move a weight: where gradients are rounding alone, as of the biases of keys,
    # AdamW makes steps of it.
    assert all((tensor - second[name]).abs().max() < 1e-4 for name, tensor in first.items())


def test_where_one_process_is_killed_the_other_says_so_and_ends(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [*LAUNCH, str(CHILD), str(tmp_path / "out"), "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    metrics = tmp_path / "out" / "metrics.jsonl"
    while not (metrics.is_file() and metrics.stat().st_size):
        assert started.poll() is None, started.communicate()
        time.sleep(0.05)
    for process in psutil.Process(started.pid).children(recursive=True):
        if process.environ().get("RANK") == "1":
            process.kill()
    said, faults = started.communicate(timeout=120)
    assert started.returncode == 1
    assert "another of the 2 processes of this launch has ended, so this one stops too." in said
    assert "gloo" not in faults, "the words of the library"


def test_two_processes_go_on_after_a_stop_with_dropout_and_all(tmp_path: Path) -> None:
    train(tmp_path / "dropout", 2)
    stopped = train(tmp_path / "dropout-cut", 2, stop=4)
    assert stopped.splitlines()[-1] == "stopped after step 5 of 6. The same command goes on from there."
    refused = train(tmp_path / "dropout-cut", 1, expect=2)
    assert "since `training.per_device_train_batch_size` was 2 and is 4; its processes were 2 and are 1." in refused
    train(tmp_path / "dropout-cut", 2)
    assert lines(tmp_path / "dropout-cut") == lines(tmp_path / "dropout")
    whole, cut = (load_file(tmp_path / name / "model.safetensors") for name in ("dropout", "dropout-cut"))
    assert all(tensor.equal(cut[name]) for name, tensor in whole.items())

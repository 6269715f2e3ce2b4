"""The row cache in two processes gives the gradient of the full graph, for every task and merger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradient_kit import CASES, case_name

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("gradient_child.py")
LIMITS = {"torch.float64": 1e-12, "torch.float32": 1e-6}


@pytest.mark.distributed
@pytest.mark.usefixtures("minilm_folder")
def test_gradients_of_two_processes_are_those_of_the_full_graph() -> None:
    """Seven documents in a step of two batches each, so that one process has fewer; every second case with dropout."""
    files = ROOT / "configs" / "accelerate"
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", files / "two_cpu_processes.yaml"]
    options = ["--main_process_port", "0", "--num_cpu_threads_per_process", "1"]
    finished = subprocess.run(
        [*command, *options, str(CHILD)], capture_output=True, text=True, timeout=900, check=False, cwd=ROOT,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("{")]
    assert [each["case"] for each in found] == [case_name(case) for case in CASES]
    assert {each["documents"] for each in found} == {7}
    assert all(0 < sum(each["mine"]) < 7 for each in found), "two processes share the work"
    apart = [each for each in found if not each["same_draws"] < LIMITS[each["dtype"]]]
    assert apart == []
    alone = [each for each in found if "alone" in each]
    assert len(alone) > len(found) / 3
    assert [each for each in alone if not each["alone"] < 3 * LIMITS[each["dtype"]]] == []

"""Training killed at every durable call: what was saved is never lost, and the run ends as an undisturbed one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("killed_training.py")
pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("minilm_folder")]


def test_a_kill_at_any_durable_call_loses_the_unsaved_steps_at_most(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, str(CHILD), str(tmp_path)], capture_output=True, text=True, timeout=3600, check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    kills = [json.loads(line) for line in finished.stdout.splitlines()]
    assert len(kills) > 60, "two checkpoints, two best epochs and the model, a dozen calls each"
    assert [kill["call"] for kill in kills if not kill["same"]] == []
    # A checkpoint follows each step: the one of the last step may have been under way.
    assert [kill for kill in kills if kill["from"] is not None and kill["from"] < kill["taken"] - 1] == []
    assert {kill["from"] for kill in kills} >= {0, 1, 2}
    assert [kill["call"] for kill in kills if kill["from"] is not None and kill["left"]] == []

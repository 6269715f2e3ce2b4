"""Masked-language training in two processes gives what one gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from longdoc.checkpoints import load_encoder

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("minilm_folder")]


def train(output: Path, data: Path, processes: int) -> list[dict[str, float]]:
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file",
              str(ROOT / "configs" / "accelerate" / "two_cpu_processes.yaml"), "--main_process_port", "0",
              "--num_cpu_threads_per_process", "1", "-m"]  # fmt: skip
    settings = ("pretraining.max_steps=4", "pretraining.batch_tokens=256", "pretraining.logging_steps=1",
                "pretraining.learning_rate=1e-3", "pretraining.weight_decay=0", "model.encoder.dropout=0.0",
                "model.encoder.attention_dropout=0.0")  # fmt: skip
    finished = subprocess.run(
        [*(launch if processes > 1 else [sys.executable, "-m"]), "longdoc", "train", "--pretrain",
         "--config", str(ROOT / "configs" / "debug_tiny.yaml"), *(part for s in settings for part in ("--set", s)),
         "--data", str(data), "--validation", str(data), "--output", str(output)],
        capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    words = "the tenant shall pay the landlord a rent every month".split()
    rows = [{"id": str(n), "text": " ".join(words[n % 7 :] * (3 + n % 5))} for n in range(11)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    alone, together = train(tmp_path / "one", data, 1), train(tmp_path / "two", data, 2)
    assert len(alone) == len(together) == 7, "four steps, validation before them and after each epoch"
    for one, two in zip(alone, together, strict=True):
        assert one["step"] == two["step"]
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-5)
        assert one.get("accuracy") == two.get("accuracy")
        assert one.get("hidden") == two.get("hidden")
    first, second = (load_encoder(tmp_path / name).state_dict() for name in ("one", "two"))
    # The bias of keys has no gradient but rounding, of which AdamW makes steps.
    apart = {name: float((tensor - second[name]).abs().max()) for name, tensor in first.items()}
    assert [name for name, far in apart.items() if far > 1e-4 and not name.endswith("key.bias")] == []

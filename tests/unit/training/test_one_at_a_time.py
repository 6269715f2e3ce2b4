"""Trainings in several threads of a process take turns, so that each gives what its seed says."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from safetensors.torch import load_file

from longdoc.api import train
from longdoc.config import load_config
from longdoc.errors import UsageError
from training_kit import CONFIG, documents


@pytest.mark.usefixtures("minilm_folder")
def test_two_threads_train_what_one_does(tmp_path: Path) -> None:
    config = load_config(CONFIG, ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32"])

    def run(name: str) -> None:
        train(config, tmp_path / name, train_documents=documents(12))

    run("alone")
    threads = [threading.Thread(target=run, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone, *others = (load_file(tmp_path / name / "model.safetensors") for name in ("alone", "first", "second"))
    for other in others:
        assert all(tensor.equal(other[name]) for name, tensor in alone.items())


def test_resume_is_true_false_or_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        train(load_config(CONFIG), tmp_path / "out", train_documents=documents(3), resume="yes")  # type: ignore[arg-type]
    assert str(caught.value) == "`resume` must be True, False or None, but is of type str instead."

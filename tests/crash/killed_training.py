"""FOLDER: training runs there, each killed at one durable call after the other, and gone on with afterwards.

Every run is a fork of this process, which has imported everything by then. Prints a line of JSON for each kill: at
which call, the step that was taken last, the step that was gone on from (null: the run had ended), whether metrics and
weights are those of an undisturbed run, and what lies about in the end.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.errors import UsageError
from longdoc.pipeline import Pipeline
from longdoc.training import checkpointing
from longdoc.training.own_folder import refuse_finished
from longdoc.training.steps import Stepper
from training_kit import CONFIG, LABELS, documents, lines, run

SETTINGS = ("save_steps=1", "save_total_limit=1", "num_train_epochs=2", "per_device_train_batch_size=4")
DOCUMENTS = {"train": documents(4), "validation": documents(2, 50, "v")}
"""A step and a validation in each of two epochs; a checkpoint after each step, the second instead of the first."""


def kill_at(wanted: int) -> None:
    """SIGKILL to this process before its durable call number `wanted`; in the middle of it where that writes a file."""
    done, inside = 0, False

    def counted(real: Callable[..., Any], written: int | None = None) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal done, inside
            if inside:  # one call that is made of others is one
                return real(*given, **named)
            done += 1
            if done == wanted:
                if written is not None:
                    real(*given, **named)
                    os.truncate(given[written], Path(given[written]).stat().st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            inside = True
            try:
                return real(*given, **named)
            finally:
                inside = False

        return call

    checkpointing.save_file = counted(checkpointing.save_file, written=1)
    Path.write_text = counted(Path.write_text, written=0)  # type: ignore[method-assign]
    for owner, names in ((Path, ("rename", "replace", "unlink")), (os, ("fsync", "replace")), (shutil, ("rmtree",))):
        for name in names:
            setattr(owner, name, counted(getattr(owner, name)))


def without_waiting(_: int) -> None:
    """For `os.fsync`: the disk is not waited for, as what a process wrote outlives a kill."""


def forked(work: Callable[[], Any]) -> bool:
    """Whether `work` came to its end in a process of its own, which was not killed."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0 or os.WIFSIGNALED(status), "it failed instead of being killed"
    return status == 0


def killed_run(pipeline: Pipeline, output: Path, note: Path, wanted: int) -> None:
    take = Stepper.take

    def noted(self: Stepper, *given: Any) -> Any:
        outcome = take(self, *given)
        with note.open("a") as file:
            file.write("taken\n")
        return outcome

    Stepper.take = noted  # type: ignore[method-assign]
    kill_at(wanted)
    run(pipeline, output, *SETTINGS, **DOCUMENTS)  # type: ignore[arg-type]


def go_on(pipeline: Pipeline, output: Path, note: Path) -> None:
    """As the same command does."""
    start = 0

    def tell(state: Any) -> None:
        nonlocal start
        if state.phase == "resume":
            start = state.done

    try:
        refuse_finished(output)
    except UsageError:
        return  # a whole model is there
    run(pipeline, output, *SETTINGS, **DOCUMENTS, progress=tell)  # type: ignore[arg-type]
    note.write_text(str(start))


def result(output: Path) -> tuple[Any, bytes]:
    return lines(output), (output / "model.safetensors").read_bytes()


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    os.fsync = without_waiting  # type: ignore[assignment]
    settings = ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32"]
    pipeline = build_pipeline(load_config(CONFIG, settings), LABELS)
    run(pipeline, folder / "whole", *SETTINGS, **DOCUMENTS)  # type: ignore[arg-type]
    expected = result(folder / "whole")
    for wanted in range(1, 300):
        output, taken, start = folder / "killed", folder / "taken", folder / "start"
        taken.write_text("")
        if forked(lambda: killed_run(pipeline, output, taken, wanted)):  # noqa: B023  it is called at once
            break  # it has fewer calls than that
        assert forked(lambda: go_on(pipeline, output, start)), wanted  # noqa: B023
        said = {"call": wanted, "taken": taken.read_text().count("taken"), "from": None}
        if start.exists():
            said["from"] = int(start.read_text())
            start.unlink()
        left = sorted(path.name for path in (*folder.iterdir(), *output.iterdir()) if path.name.startswith("."))
        print(json.dumps(said | {"same": result(output) == expected, "left": left}), flush=True)
        shutil.rmtree(output)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

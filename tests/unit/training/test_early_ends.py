"""Runs that end before their last epoch: because nothing gets better, or because somebody stops a validation."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longdoc.pipeline import Pipeline
from longdoc.training import run as running
from longdoc.training.run import TrainingRun
from longdoc.training.run_layout import checkpoints_in
from longdoc.training.validation import Validator
from training_kit import documents, lines, run, stopped

pytestmark = pytest.mark.usefixtures("minilm_folder")

slow = pytest.mark.slow
GIVEN: dict[str, Any] = {"train": documents(4), "validation": documents(3, 50, "v")}
"""One step an epoch."""


def score_epochs(
    monkeypatch: pytest.MonkeyPatch, scores: Sequence[float], losses: Sequence[float] | None = None
) -> None:
    """The macro F1 on the validation documents after each epoch is this, and their loss; else it rises."""
    measure, validate = running.metrics_of, TrainingRun.validate
    at = [0]

    def scored(*given: Any, **named: Any) -> dict[str, Any]:
        return measure(*given, **named) | {"macro_f1": scores[at[0]], "loss": losses[at[0]] if losses else at[0]}

    def noted(self: TrainingRun, epoch: int, metrics: Any) -> None:
        at[0] = epoch
        validate(self, epoch, metrics)

    monkeypatch.setattr(running, "metrics_of", scored)
    monkeypatch.setattr(TrainingRun, "validate", noted)


@pytest.mark.parametrize(
    ("scores", "patience", "epochs", "best"),
    [
        ([0.5, 0.6, 0.6, 0.55, 0.9, 0.9], 2, 4, 2),  # as good is not better
        pytest.param([0.5, 0.4, 0.6, 0.5, 0.7, 0.6], 2, 6, 5, marks=slow),  # one worse epoch is not two in a row
        pytest.param([0.5, 0.4, 0.3, 0.2, 0.1, 0.0], 1, 2, 1, marks=slow),
        pytest.param([0.1, 0.2, 0.3, 0.4, 0.5, 0.4], 1, 6, 5, marks=slow),  # the last epoch: nothing was left out
    ],
)
def test_it_ends_when_so_many_epochs_in_a_row_were_no_better(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    scores: list[float], patience: int, epochs: int, best: int,
) -> None:  # fmt: skip
    score_epochs(monkeypatch, scores)
    report = run(tiny_pipeline, tmp_path, "num_train_epochs=6", f"early_stopping_patience={patience}", **GIVEN)
    measured = [line for line in lines(tmp_path) if "split" in line]
    assert [line["epoch"] for line in measured] == list(range(1, epochs + 1))
    assert (report.steps, report.best_epoch, report.best) == (epochs, best, scores[best - 1])
    assert report.stopped_early == (epochs < 6)


@slow
@pytest.mark.parametrize("stop", [2, 3, 4])
def test_a_run_that_was_stopped_ends_early_all_the_same(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Before the best epoch's validation, between the two that are no better, and after the last step of all."""
    score_epochs(monkeypatch, [0.5, 0.6, 0.6, 0.55, 0.9, 0.9])
    settings = ("num_train_epochs=6", "early_stopping_patience=2")
    run(tiny_pipeline, tmp_path / "whole", *settings, **GIVEN)
    stopped(tiny_pipeline, tmp_path / "cut", *settings, stop_after=stop, **GIVEN)
    report = run(tiny_pipeline, tmp_path / "cut", *settings, **GIVEN)
    assert (report.best_epoch, report.stopped_early, report.steps) == (2, True, 4)
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    read = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert read[0] == read[1]


def test_ctrl_c_while_validation_documents_are_answered_is_gone_on_with(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tiny_pipeline, tmp_path / "whole", "num_train_epochs=3", **GIVEN)
    answers, calls = Validator.answers, []

    def interrupted(self: Validator) -> Any:
        calls.append(self)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return answers(self)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "answers", interrupted)
        said = stopped(tiny_pipeline, tmp_path / "cut", "num_train_epochs=3", **GIVEN)
    assert said == "stopped after step 2 of 3. The same command goes on from there."
    assert len(calls) == 2, "it was not waited for"
    assert [path.name for path in checkpoints_in(tmp_path / "cut")] == ["step-000002"]
    run(tiny_pipeline, tmp_path / "cut", "num_train_epochs=3", **GIVEN)
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")


def test_epochs_that_are_as_good_by_the_metric_are_no_reason_to_go_on_and_the_lowest_loss_is_kept(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_epochs(monkeypatch, [0.5, 0.6, 0.6, 0.6, 0.6, 0.9], [9.0, 3.0, 1.0, 2.0, 0.5, 0.1])
    settings = ("num_train_epochs=6", "early_stopping_patience=2")
    report = run(tiny_pipeline, tmp_path / "whole", *settings, **GIVEN)
    assert (report.best_epoch, report.best, report.epochs_alike, report.stopped_early) == (3, 0.6, 3, True)
    assert report.epochs == 4
    stopped(tiny_pipeline, tmp_path / "cut", *settings, stop_after=3, **GIVEN)
    gone_on = run(tiny_pipeline, tmp_path / "cut", *settings, **GIVEN)
    assert (gone_on.best_epoch, gone_on.epochs_alike, gone_on.steps) == (3, 3, 4)
    read = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert read[0] == read[1]

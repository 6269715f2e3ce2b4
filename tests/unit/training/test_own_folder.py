"""A run writes into a folder of its own: what others left there is refused, and what it left itself is no hindrance."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.pipeline import Pipeline
from longdoc.training.checkpointing import Checkpoint, clear_checkpoints
from longdoc.training.own_folder import refuse_finished
from longdoc.training.resume import Identity
from longdoc.types import Document, Span
from training_kit import documents, lines, run, stopped


@pytest.mark.parametrize("name", ["README.md", "metrics.jsonl", "curves.svg", "checkpoints/thesis.txt"])
def test_a_folder_of_somebody_else_is_refused_where_a_run_would_write(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError) as caught:
        refuse_finished(tmp_path, tidy=True)
    held = name.split("/")[0]
    assert str(caught.value) == (
        f"`output` must be a new folder or that of a run, but {tmp_path} holds {held}, which no run wrote. Name "
        "another folder."
    )
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_with_other_things_is_taken_and_they_stay(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refuse_finished(tmp_path)
    stopped(tiny_pipeline, tmp_path, stop_after=1)
    (tmp_path / "checkpoints" / "thesis.txt").write_text("mine")
    run(tiny_pipeline, tmp_path)
    left = [path.name for path in (tmp_path / "checkpoints").iterdir()]
    assert left == ["thesis.txt"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_part_of_a_model_beside_checkpoints_is_the_runs_own(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    """The state on the disk after a kill between the weights and the last files, where no step was ever saved."""
    run(tiny_pipeline, tmp_path)
    for name in ("config.json", "longdoc.json"):
        (tmp_path / name).unlink()
    with pytest.raises(UsageError, match=r"holds a model already \(model.safetensors\)"):
        refuse_finished(tmp_path)
    (tmp_path / "checkpoints" / "best").mkdir(parents=True)
    refuse_finished(tmp_path)
    run(tiny_pipeline, tmp_path)
    assert Pipeline.load(tmp_path).predict(["the licence grants"])[0].ok
    assert not (tmp_path / "checkpoints").exists()


def test_checkpoints_beside_a_whole_model_are_tidied_up(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    stopped(tiny_pipeline, tmp_path, stop_after=1)
    (kept,) = (tmp_path / "checkpoints").iterdir()
    spare = tmp_path / "spare"
    kept.rename(spare)
    run(tiny_pipeline, tmp_path)
    kept.parent.mkdir()
    spare.rename(kept)
    for tidy in (False, True):
        with pytest.raises(UsageError, match="holds a model already"):
            refuse_finished(tmp_path, tidy=tidy)
        assert kept.exists() is not tidy
    assert not kept.parent.exists()


def test_clearing_checkpoints_of_a_folder_without_any_does_nothing(tmp_path: Path) -> None:
    clear_checkpoints(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_of_metrics_is_dropped_and_the_run_ends_well(
    tiny_pipeline: Pipeline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped(tiny_pipeline, tmp_path, "logging_steps=1", stop_after=3)
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"{") + 9])
    with caplog.at_level(logging.WARNING):
        run(tiny_pipeline, tmp_path, "logging_steps=1")
    assert caplog.messages == [f"{path} is shorter than it was: lines of before the stop are missing"]
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 4, 5, 6]
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")


def test_a_killed_run_without_a_checkpoint_starts_over_and_says_so(
    tiny_pipeline: Pipeline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "config.resolved.yaml").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    with caplog.at_level(logging.WARNING):
        run(tiny_pipeline, tmp_path)
    assert caplog.messages == [
        f"the run that was begun in {tmp_path} ended before its first checkpoint: it starts over"
    ]
    assert [line["step"] for line in lines(tmp_path)][-1] == 6


@pytest.mark.parametrize("change", [{"question": "when?"}, {"answers": (Span(0, 3),)}, {"answers": None}])
def test_another_question_or_answer_is_another_run(change: dict[str, object]) -> None:
    asked = Document(id="a", text="the licence", question="who?", answers=(Span(4, 11),))

    def identity(document: Document) -> Identity:
        return Identity("{}", [document], [], [3], torch.nn.Linear(1, 1), 1)

    checkpoint = Checkpoint()
    same = identity(asked)
    same.store(checkpoint, "salt")
    assert same.differences(checkpoint) == []
    other = Identity("{}", [replace(asked, **change)], [], [3], same.model, 1)  # type: ignore[arg-type]
    assert other.differences(checkpoint) == ["of the training documents 1 is changed"]


def test_lists_of_training_settings_are_named_with_both_values() -> None:
    checkpoint = Checkpoint()
    model = torch.nn.Linear(1, 1)
    texts = [json.dumps({"training": {"freeze": freeze}}) for freeze in ([], ["encoder"])]
    before, now = (Identity(text, documents(1), [], [1], model, 1) for text in texts)
    before.store(checkpoint, "salt")
    assert now.differences(checkpoint) == ['`training.freeze` was [] and is ["encoder"]']

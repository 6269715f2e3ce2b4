"""A run that was stopped goes on as if it had never been: the same losses, the same weights, or a clear refusal."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from longdoc.errors import CheckpointError, UsageError
from longdoc.model import LongDocModel
from longdoc.pipeline import Pipeline
from longdoc.training.checkpointing import read_checkpoint
from longdoc.training.run_layout import checkpoints_in
from longdoc.types import ChunkBatch, Document
from training_kit import documents, lines, run, stopped

pytestmark = pytest.mark.usefixtures("minilm_folder")

WAYS_OUT = "Put that back, or start over: `--restart` (`resume=False` in Python)."


@pytest.fixture(scope="module")
def whole(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six steps that nobody stopped."""
    output = tmp_path_factory.mktemp("whole") / "run"
    run(tiny_pipeline, output)
    return output


@pytest.fixture(scope="module")
def unfinished(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, stopped after the fourth step, with checkpoints of steps 2 and 4."""
    output = tmp_path_factory.mktemp("unfinished") / "run"
    said = stopped(tiny_pipeline, output, "save_steps=2", stop_after=4)
    assert said == "stopped after step 4 of 6. The same command goes on from there."
    return output


@pytest.fixture
def cut(unfinished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(unfinished, tmp_path / "run"))


def test_losses_and_weights_are_those_of_the_run_that_was_never_stopped(
    tiny_pipeline: Pipeline, whole: Path, cut: Path
) -> None:
    assert [path.name for path in checkpoints_in(cut)] == ["step-000004", "step-000002"]
    with (cut / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "loss": "of a run that was killed after its checkpoint"}\n')
    told = []
    report = run(tiny_pipeline, cut, progress=lambda state: told.append((state.phase, state.done, state.total)))
    assert told[0] == ("resume", 4, 6)
    assert lines(cut) == lines(whole)
    assert [line["step"] for line in lines(cut)] == [1, 2, 3, 4, 5, 6]
    assert all(line["grad_norm"] > 0 for line in lines(cut))
    found, expected = (load_file(path / "model.safetensors") for path in (cut, whole))
    assert all(tensor.equal(found[name]) for name, tensor in expected.items())
    assert report.steps == 6
    assert not (cut / "checkpoints").exists()


@pytest.mark.parametrize("second_pass", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_stop_in_the_middle_of_a_step_leaves_that_step_and_loses_nothing(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second_pass: bool
) -> None:
    """Steps may take minutes; SIGTERM comes with the micro-batches of the third, or of the first."""
    passes: list[bool] = []
    marks: list[int] = []
    stop_at: list[int] = []
    chunk_rows = LongDocModel.chunk_rows

    def watched(model: LongDocModel, batch: ChunkBatch) -> torch.Tensor:
        passes.append(torch.is_grad_enabled())
        if len(passes) in stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return chunk_rows(model, batch)

    monkeypatch.setattr(LongDocModel, "chunk_rows", watched)
    run(tiny_pipeline, tmp_path / "whole", "micro_batch_tokens=32", progress=lambda _: marks.append(len(passes)))
    third = next(n for n in range(marks[1] + 1, marks[2]) if passes[n - 1] is second_pass)
    assert passes[third] is second_pass, "it is not the last of its pass"
    computed, stop_at[:] = marks[2] - marks[1], [third]
    passes.clear()
    said = stopped(tiny_pipeline, tmp_path / "cut", "micro_batch_tokens=32")
    assert said == "stopped after step 2 of 6. The same command goes on from there."
    assert len(passes) == third < marks[1] + computed, "the rest of the step was not computed"
    stop_at.clear()
    run(tiny_pipeline, tmp_path / "cut", "micro_batch_tokens=32")
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    found, expected = (load_file(tmp_path / name / "model.safetensors") for name in ("cut", "whole"))
    assert all(tensor.equal(found[name]) for name, tensor in expected.items())
    passes.clear()
    stop_at[:] = [2]
    with pytest.raises(KeyboardInterrupt):
        run(tiny_pipeline, tmp_path / "new", "micro_batch_tokens=32")
    assert not list((tmp_path / "new").iterdir()), "nothing was learned, so nothing is kept"


def test_what_only_decides_on_logging_and_keeping_may_change(tiny_pipeline: Pipeline, whole: Path, cut: Path) -> None:
    run(tiny_pipeline, cut, "logging_steps=2", "save_steps=1", "save_total_limit=1", "save_minutes=null")
    assert [line["loss"] for line in lines(cut)[:4]] == [line["loss"] for line in lines(whole)[:4]]
    assert lines(cut)[-1]["step"] == 6


def test_a_damaged_checkpoint_is_said_and_the_one_before_it_taken(
    tiny_pipeline: Pipeline, whole: Path, cut: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = cut / "checkpoints" / "step-000004" / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        run(tiny_pipeline, cut)
    assert caplog.messages == [
        f"the checkpoint step-000004 is passed over: `{path}` must be as it was written, but is not."
    ]
    assert lines(cut) == lines(whole)


@pytest.mark.parametrize("name", ["manifest.json", "state.json", "optimizer.safetensors"])
def test_where_every_checkpoint_is_damaged_nothing_is_guessed(tiny_pipeline: Pipeline, cut: Path, name: str) -> None:
    for folder in checkpoints_in(cut):
        (folder / name).unlink()
    with pytest.raises(CheckpointError) as caught:
        run(tiny_pipeline, cut)
    assert str(caught.value) == (
        f"`{cut}` must hold a whole checkpoint for the run to go on, but all 2 are damaged. Start over: `--restart` "
        "(`resume=False` in Python)."
    )


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["learning_rate=0.5"], "`training.learning_rate` was 0.001 and is 0.5"),
        (
            ["num_train_epochs=3", "freeze=[encoder.layers.0]"],
            '`training.freeze` was [] and is ["encoder.layers.0"]; `training.num_train_epochs` was 2 and is 3',
        ),
        (["head_learning_rate=0.1"], "`training.head_learning_rate` was null and is 0.1"),
    ],
)
def test_another_configuration_is_refused_by_its_keys(
    tiny_pipeline: Pipeline, cut: Path, overrides: list[str], said: str
) -> None:
    before = sorted(path.relative_to(cut) for path in cut.rglob("*"))
    with pytest.raises(UsageError) as caught:
        run(tiny_pipeline, cut, *overrides)
    assert str(caught.value) == f"the run that was begun in {cut} cannot be gone on with, since {said}. {WAYS_OUT}"
    assert sorted(path.relative_to(cut) for path in cut.rglob("*")) == before


@pytest.mark.parametrize(
    ("train", "validation", "said"),
    [
        (
            [*documents(10), replace(documents(11)[10], text="other words"), *documents(2, 50)],
            [],
            "of the training documents 2 are new, 1 is gone, 1 is changed",
        ),
        ([replace(documents(1)[0], label="notice"), *documents(11, 1)], [], "of the training documents 1 is changed"),
        (documents(12)[::-1], [], "the training documents stand in another order"),
        (documents(12), documents(1, 99), "of the validation documents 1 is new"),
    ],
)
def test_other_documents_are_refused_by_their_numbers(
    tiny_pipeline: Pipeline, cut: Path, train: list[Document], validation: list[Document], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(tiny_pipeline, cut, train=train, validation=validation)
    assert str(caught.value) == f"the run that was begun in {cut} cannot be gone on with, since {said}. {WAYS_OUT}"


def test_other_weights_under_the_same_name_are_refused(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    frozen = "freeze=[encoder]"
    stopped(tiny_pipeline, tmp_path, frozen, stop_after=1)
    stored = read_checkpoint(checkpoints_in(tmp_path)[0])
    assert not any(name.startswith("encoder.") for name in stored.tensors["weights"]), "what is frozen is not stored"
    other = Pipeline(
        type(tiny_pipeline.model)(type(tiny_pipeline.model.encoder)(tiny_pipeline.model.encoder.config),
                                  tiny_pipeline.model.readout),
        tiny_pipeline.settings, tiny_pipeline.tokenizer, tiny_pipeline.prediction,
    )  # fmt: skip
    with pytest.raises(
        UsageError, match=r"since the checkpoint or the tokenizer that `model.source` names is not what"
    ):
        run(other, tmp_path, frozen)


def test_no_text_and_no_id_stands_in_a_checkpoint(cut: Path) -> None:
    files = [path for path in (cut / "checkpoints").rglob("*") if path.is_file()]
    stored = b"".join(path.read_bytes() for path in files)
    assert b"licence" not in stored
    # Three letters stand in megabytes of weights by chance: of those only the header can hold a word.
    said = b"".join(
        path.read_bytes()[: 8 + int.from_bytes(path.read_bytes()[:8], "little")]
        if path.name in ("weights.safetensors", "optimizer.safetensors", "random.safetensors")
        else path.read_bytes()
        for path in files
    )
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    assert len(said) < 200_000
    assert b"d11" not in re.sub(rb"[0-9a-f]{16,}", b"", said)  # digests are letters and digits by chance
    assert len({read_checkpoint(path).numbers["salt"] for path in checkpoints_in(cut)}) == 1


def test_starting_over_forgets_the_run(tiny_pipeline: Pipeline, whole: Path, cut: Path) -> None:
    told = []
    run(tiny_pipeline, cut, unfinished="discard", progress=lambda state: told.append(state.phase))
    assert "resume" not in told
    assert lines(cut) == lines(whole)


def test_a_run_that_must_be_there_and_is_not_is_refused(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run(tiny_pipeline, tmp_path / "run", unfinished="require")
    assert str(caught.value) == (
        f"`--resume` (in Python `resume=True`) needs an unfinished run, but {tmp_path / 'run'} holds none. Leave "
        "it out to start one."
    )
    assert not (tmp_path / "run").exists()


def test_metrics_that_were_shortened_meanwhile_are_said(
    tiny_pipeline: Pipeline, cut: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (cut / "metrics.jsonl").write_text(json.dumps({"step": 1}) + "\n")
    with caplog.at_level(logging.WARNING):
        run(tiny_pipeline, cut)
    assert caplog.messages == [f"{cut / 'metrics.jsonl'} is shorter than it was: lines of before the stop are missing"]
    assert [line["step"] for line in lines(cut)] == [1, 5, 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "overrides"),
    [
        (range(1, 25), ()),
        ((1, 6, 7, 24), ("freeze=[encoder]", "gradient_accumulation_steps=2", "per_device_train_batch_size=1")),
        (
            (2, 4, 13, 24),
            (
                "gradient_accumulation_steps=3",
                "per_device_train_batch_size=1",
                "micro_batch_tokens=64",
                "logging_steps=5",
            ),
        ),
    ],
)
def test_stopped_at_every_step_the_list_of_losses_is_the_same(
    tiny_pipeline: Pipeline, tmp_path: Path, stops: Sequence[int], overrides: tuple[str, ...]
) -> None:
    given = {"train": documents(11), "validation": documents(3, 100, "v")}
    overrides = (*overrides, "num_train_epochs=8")
    best = run(tiny_pipeline, tmp_path / "whole", *overrides, **given)
    expected = lines(tmp_path / "whole")
    steps = best.steps
    assert steps >= 24
    for step in stops:
        output = tmp_path / f"cut-{step}"
        stopped(tiny_pipeline, output, *overrides, stop_after=step, **given)
        assert checkpoints_in(output)[0].name == f"step-{step:06d}"
        report = run(tiny_pipeline, output, *overrides, **given)
        assert replace(report, seconds=0) == replace(best, seconds=0), step
        assert lines(output) == expected, step
        shutil.rmtree(output)

"""`longdoc train --dry-run`: the counts of a run, what is gone on with, and nothing written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from longdoc.api import forecast_training, train_with_report
from longdoc.cli.train_dry_run import _told
from longdoc.config import load_config
from longdoc.errors import InterruptedTrainingError
from longdoc.training.forecast import TrainingForecast
from training_kit import CONFIG, documents, stopping

PLACE = ("--set", "prediction.precision.device=cpu", "--set", "prediction.precision.dtype=fp32")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def dry(run: Any, data: Path, output: Path, *more: object, expect: int = 0) -> Any:
    given = ("--config", CONFIG, "--data", data, "--output", output, *PLACE)
    return run("train", *given, "--dry-run", *more, expect=expect)


@pytest.mark.usefixtures("minilm_folder")
def test_it_says_what_a_run_would_do_and_writes_nothing(run: Any, data: Path, tmp_path: Path) -> None:
    before = everything(tmp_path)
    settings = ("training.num_train_epochs=3", "data.allow_shared_ids=true", "training.micro_batch_tokens=32")
    more = [part for setting in settings for part in ("--set", setting)]
    finished = dry(run, data, tmp_path / "out", "--validation", data, *more)
    expected = [
        "training: 6 documents, 12 chunks, 360 tokens, 2 chunks in the longest",
        "validation: 6 documents, 12 chunks, 360 tokens",
        "labels: contract: 2, letter: 2, notice: 2",
        "steps: 6, 2 in each of 3 epochs",
        "micro-batches: 32 tokens on cpu-fp32; in an epoch 2 batches of documents need the row cache",
        "rows of chunks: made anew in each step, since the encoder learns",
        f"output: {tmp_path / 'out'}, new",
        r"on the disk: \S+ MB, and up to \S+ MB more while it goes on",
        r"time: about \d+ seconds at the measured speed",
        r"memory: about \S+ [MG]B",
        r"note: 6 validation documents of 6 .*",
        "nothing was written; the run can start",
    ]
    for line, pattern in zip(finished.stdout.splitlines(), expected, strict=True):
        assert line == pattern or re.fullmatch(pattern, line), line
    assert everything(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_labels_are_said_on_one_line_and_not_for_ever() -> None:
    labels = {"a\nb": 1, "x\u202ey": 2, "caf\u00e9": 3, "long " * 20: 4}
    (line,) = [
        line
        for line in _told(TrainingForecast(6, 0, labels=labels, epochs=1), Path("out"))
        if line.startswith("labels: ")
    ]
    assert line == f"labels: a\\nb: 1, x\\u202ey: 2, caf\u00e9: 3, {('long ' * 20)[:57]}...: 4"


@pytest.mark.parametrize(
    ("large", "said"),
    [
        (0, "no batch of documents needs the row cache"),
        (1, "1 batch of documents needs the row cache"),
        (1200, "1,200 batches of documents need the row cache"),
    ],
)
def test_batches_that_need_several_micro_batches_are_a_sentence(large: int, said: str) -> None:
    forecast = TrainingForecast(6, 0, epochs=1, micro_batch_tokens=8192, placement="cpu-fp32", row_cache_batches=large)
    assert f"micro-batches: 8,192 tokens on cpu-fp32; in an epoch {said}" in list(_told(forecast, Path("out")))


@pytest.mark.usefixtures("minilm_folder")
def test_a_run_that_has_no_room_or_no_use_of_a_setting_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config(CONFIG, [*PLACE[1::2], f"training.rows_folder={tmp_path / 'rows'}"])
    there = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: there._replace(free=1000))
    forecast = forecast_training(config, tmp_path / "out", documents(6), documents(3, 50, "v"))
    assert forecast.refusals == (
        f"The model takes {forecast.model_bytes:,} bytes, but only 1,000 are free in {tmp_path}. Make room.",
    )
    assert forecast.exit_status == 2
    assert forecast.rows == (
        "made anew in each step, since the encoder learns, so `training.rows_folder` has no effect"
    )
    assert caplog.messages == [
        "`training.rows_folder` has no effect, since the encoder learns: its rows change in each step"
    ]


@pytest.mark.usefixtures("minilm_folder")
@pytest.mark.slow
def test_what_is_said_of_a_folder_is_what_the_run_does(run: Any, data: Path, tmp_path: Path) -> None:
    """An unfinished run is gone on with, refused or removed; a model is refused."""
    output = tmp_path / "out"
    with stopping(3), pytest.raises(InterruptedTrainingError):
        train_with_report(load_config(CONFIG, [f"data.train=[{data}]", *PLACE[1::2]]), output)
    before = everything(tmp_path)
    assert f"output: {output}, holds an unfinished run, gone on with after step 3 of 4" in dry(run, data, output).stdout
    refused = dry(run, data, output, "--set", "training.learning_rate=0.5", expect=2)
    assert "since `training.learning_rate` was 0.001 and is 0.5. " in refused.stdout
    assert refused.stdout.endswith("nothing was written; the run would be refused\n")
    restarted = dry(run, data, output, "--restart", "--json", "--set", "training.freeze=[encoder]")
    read = json.loads(restarted.stdout)
    assert (read["state"], read["done"]) == ("holds an unfinished run, which would be removed", 0)
    assert read["rows"].startswith("made once, since the encoder is frozen, and kept in memory: ")
    assert (read["steps"], read["row_cache_batches"], read["exit_status"], read["refusals"]) == (4, 0, 0, [])
    missing = dry(run, data, tmp_path / "none", "--resume", expect=2)
    assert "would be refused: `--resume` (in Python `resume=True`) needs an unfinished run" in missing.stdout
    (tmp_path / "file").write_text("")
    assert "would be refused: `output` must be a folder" in dry(run, data, tmp_path / "file", expect=2).stdout
    (tmp_path / "file").unlink()
    assert everything(tmp_path) == before


@pytest.mark.usefixtures("minilm_folder")
def test_faults_of_the_data_are_found_as_in_a_run(run: Any, data: Path, tmp_path: Path) -> None:
    leaked = dry(run, data, tmp_path / "out", "--validation", data, expect=2)
    assert "training and validation must have no document in common" in leaked.output
    assert "nothing was written" not in leaked.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json",), "`--json` needs `--dry-run`, but stands alone. Add it, or leave `--json` out."),
        (
            ("--dry-run", "--pretrain"),
            "`--dry-run` must stand without `--pretrain`, but they stand together. Leave one out.",
        ),
    ],
)
def test_options_that_say_nothing_together_are_refused(run: Any, options: tuple[str, ...], message: str) -> None:
    assert run("train", "--output", "x", *options, expect=2).output == f"longdoc: {message}\n"


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_counts_are_those_of_the_run_and_a_frozen_encoder_costs_one_pass(tmp_path: Path) -> None:
    def forecast(*settings: str, readout: str = "vectors") -> Any:
        changed = [f"model.readout={readout}", *(f"training.{setting}" for setting in settings)]
        config = load_config(CONFIG, [*PLACE[1::2], *changed])
        return forecast_training(config, tmp_path / "out", documents(9), documents(3, 50, "v"))

    learning = forecast("gradient_accumulation_steps=2", "num_train_epochs=5")
    assert (learning.steps_per_epoch, learning.steps) == (2, 10)
    frozen = forecast("freeze=[encoder]", f"rows_folder={tmp_path / 'rows'}")
    kept = 4 * 32 * (learning.chunks + learning.validation_chunks)
    assert frozen.rows == (
        f"made once, since the encoder is frozen, and kept in memory and in {tmp_path / 'rows'}: {kept:,} bytes"
    )
    assert frozen.checkpoint_bytes < learning.checkpoint_bytes / 10, "what is frozen is not in them"
    anew = forecast("freeze=[encoder]", "kept_rows_gb=0", readout="label_attention").rows
    assert re.fullmatch(r"made anew in each epoch, since [\d,]+ bytes are not kept", anew)
    sampled = forecast("chunks_per_document=1")
    assert sampled.chunks == sampled.documents == 9
    assert sampled.longest > 1
    assert not (tmp_path / "rows").exists()

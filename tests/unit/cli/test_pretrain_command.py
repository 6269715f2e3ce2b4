"""`longdoc train --pretrain`, then what is built on it, as people do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

Run = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("minilm_folder")

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
QUICK = ("--set", "pretraining.max_steps=3", "--set", "pretraining.batch_tokens=256",
         "--set", "pretraining.logging_steps=1", "--set", "model.encoder.position.kind=rotary")  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of plain texts, one of them empty, and a file with labels, which do not matter."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text("the tenant shall pay the rent " * (6 + number))
    (folder / "empty.txt").write_text(" \n")
    rows = [{"id": f"r{n}", "text": "the landlord shall mend the roof " * 9, "label": "a"} for n in range(2)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_from_texts_to_an_encoder_to_a_classifier(run: Run, corpus: Path, data: Path, tmp_path: Path) -> None:
    encoder, model = tmp_path / "encoder", tmp_path / "model"
    shown = run("train", "--pretrain", "--config", CONFIG, "--set", "chunking.overlap=0", *QUICK,
                "--data", corpus, "--validation", corpus / "rows.jsonl", "--output", encoder)  # fmt: skip
    assert "longdoc: 1 document left out: 1 empty." in shown.output
    assert "trained on 5 documents (" in shown.output
    assert "step 3 kept, perplexity " in shown.output or "kept, perplexity " in shown.output
    assert f"encoder in {encoder}" in shown.output
    assert "tenant" not in shown.output
    resolved = yaml.safe_load((encoder / "config.resolved.yaml").read_text())
    assert list(resolved) == ["model", "chunking", "data", "read", "pretraining", "prediction"]
    assert resolved["pretraining"]["max_steps"] == 3

    assert "positions     rotary" in run("inspect", "model", "--model", encoder).output
    run("import-checkpoint", encoder, tmp_path / "copy")
    run("train", "--set", f"model.source={encoder}", "--set", "chunking={size: 32, overlap: 8}",
        "--set", "training.num_train_epochs=1", "--data", data, "--output", model)  # fmt: skip
    described = run("inspect", "model", "--model", model).output
    assert f"started from  {encoder}" in described
    assert "positions     rotary" in described


def test_no_overlap_unless_asked_for(run: Run, corpus: Path, tmp_path: Path) -> None:
    run("train", "--pretrain", "--set", "chunking.size=32", "--set", "model.encoder={width: 16, layers: 1, heads: 2}",
        *QUICK, "--data", corpus, "--output", tmp_path / "run")  # fmt: skip
    assert yaml.safe_load((tmp_path / "run" / "config.resolved.yaml").read_text())["chunking"]["overlap"] == 0


def test_a_checkpoint_without_a_head_gets_a_new_one_and_it_is_said(run: Run, corpus: Path, tmp_path: Path) -> None:
    shown = run("train", "--pretrain", "--set", "chunking.size=32", "--set", "pretraining.max_steps=1",
                "--set", "pretraining.batch_tokens=64", "--data", corpus, "--output", tmp_path / "run")  # fmt: skip
    assert "longdoc: the head that guesses tokens is new: the checkpoint holds none." in shown.output
    assert "longdoc: no --validation, so the last step is kept and nothing is measured." in shown.output
    assert json.loads((tmp_path / "run" / "config.json").read_text())["architectures"] == ["BertForMaskedLM"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--pretrain", "--set", "training.seed=3"),
            "`training.seed` has no effect on `longdoc train --pretrain`, which looks at model, chunking, data, read, "
            "pretraining and prediction. Leave it out.",
        ),
        (
            ("--set", "pretraining.seed=3"),
            "`pretraining.seed` has no effect on `longdoc train`, which looks at model, chunking, data, read, training "
            "and prediction. Leave it out.",
        ),
        (
            ("--pretrain", "--set", "pretraining.mask_share=1"),
            "`pretraining.mask_share` must be less than 1, but is not.",
        ),
        (
            ("--pretrain", "--set", "pretraining.random_token_share=0.3"),
            "`pretraining`: `mask_token_share` and `random_token_share` must add up to at most 1, but make 1.1 "
            "instead. Lower one of them.",
        ),
        (
            ("--pretrain", "--set", "pretraining.whole_word=true"),
            "`pretraining.whole_word` is not a configuration key. Did you mean `pretraining.whole_words`?",
        ),
    ],
)
def test_settings_that_cannot_be_meant(
    run: Run, options: tuple[str, ...], message: str, corpus: Path, tmp_path: Path
) -> None:
    shown = run("train", *options, "--data", corpus, "--output", tmp_path / "run", expect=2)
    assert shown.output == f"longdoc: {message}\n"
    assert not (tmp_path / "run").exists()


def test_without_data_nothing_starts(run: Run, tmp_path: Path) -> None:
    shown = run("train", "--pretrain", "--output", tmp_path / "run", expect=2)
    assert shown.output.endswith("longdoc: `data.train` must name at least one file, but is empty. Pass `--data`.\n")


def test_a_stopped_run_says_what_is_kept(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longdoc.training import pretraining

    real = pretraining._Run.step

    def step(self: pretraining._Run, *arguments: object) -> None:
        if self.report.steps == 2:
            raise KeyboardInterrupt
        real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pretraining._Run, "step", step)
    shown = run("train", "--pretrain", "--config", CONFIG, *QUICK, "--set", "pretraining.eval_steps=1",
                "--data", corpus, "--validation", corpus, "--output", tmp_path / "run", expect=75)  # fmt: skip
    best = tmp_path / "run" / "checkpoints" / "best"
    assert shown.output.endswith(
        f"longdoc: stopped. The best step so far is the checkpoint {best}: move it to keep it. The same command "
        "starts over.\n"
    )
    assert (best / "config.json").exists()

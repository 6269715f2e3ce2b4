"""Pages whose Python blocks run, and commands whose settings exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import torch

from longdoc.config import load_config
from longdoc.model import LongDocModel
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.spans import redacted

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_blocks_of_the_page_about_apps_run(
    tiny_pipeline: Pipeline, minilm_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(tmp_path / "runs" / "mine")
    kinds = {"contract": "the tenant pays the rent ", "letter": "dear friend many thanks "}
    rows = [f"d{n},{text * (2 + n)},{kind}" for n in range(4) for kind, text in kinds.items()]
    (tmp_path / "letters.csv").write_text("id,body,kind\n" + "".join(f"{n}{row}\n" for n, row in enumerate(rows)))
    tiny = (ROOT / "configs" / "debug_tiny.yaml").read_text(encoding="utf-8")
    (tmp_path / "run.yaml").write_text(tiny.replace("num_train_epochs: 2", "num_train_epochs: 1"))
    monkeypatch.chdir(tmp_path)
    found = blocks("apps.md", "python")
    assert len(found) == 4
    names: dict[str, object] = {}
    for block in found:
        exec(compile(block, "apps.md", "exec"), names)
    assert {type(names["again"]).__name__, type(names["best"]).__name__} == {"LongDocumentClassifier"}
    assert (tmp_path / "runs" / "best" / "longdoc.json").is_file()
    assert len(names["answers"]) == len(names["letters"]) == 8  # type: ignore[arg-type]


def test_the_blocks_of_the_page_about_spans_run(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TokensReadoutConfig(overlapping=False)
    encoder, labels = tiny_pipeline.model.encoder, ("CITY", "PERSON")
    readout = config.build(encoder.config.width, 5)
    with torch.no_grad():
        readout.head.output.bias.copy_(torch.tensor([0.0, 9.0, 0.0, 0.0, 0.0]))  # every word begins a city
    settings = tiny_pipeline.settings.model_copy(update={"task": "spans", "labels": labels, "readout": config})
    Pipeline(LongDocModel(encoder, readout), settings, tiny_pipeline.tokenizer).save(tmp_path / "runs" / "places")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("spans.md", "python"):
        exec(compile(block, "spans.md", "exec"), names)
    assert len(names["result"].spans) == 6, "five words and a full stop"  # type: ignore[attr-defined]
    assert redacted("Ada Lovelace moved.", names["result"].spans[:1]) == "[CITY] Lovelace moved."  # type: ignore[attr-defined]
    for line in "".join(blocks("spans.md", "sh")).splitlines():
        words = shlex.split(line, comments=True)
        for file in (words[n + 1] for n, word in enumerate(words) if word == "--config"):
            assert load_config(ROOT / file).model.task == "spans"


@pytest.mark.parametrize("page", ["pretraining.md"])
def test_the_settings_of_the_commands_on_a_page_exist(page: str) -> None:
    found = [shlex.split(block.replace("\\\n", " "), comments=True) for block in blocks(page, "sh")]
    words = [word for command in found for word in command]
    settings = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    assert settings
    for setting in settings:
        load_config(None, [setting.replace("$seed", "0")])
    files = [words[n + 1] for n, word in enumerate(words) if word == "--config"]
    for file in files:
        load_config(ROOT / file)

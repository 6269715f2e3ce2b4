"""Vectors through the commands: train, embed, evaluate; what answers documents one by one is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from training_kit import CONFIG, documents

SETTINGS = (
    *("--set", "model.readout={kind: embedding}", "--set", "model.task=embedding"),
    *("--set", "prediction.precision.device=cpu", "--set", "prediction.precision.dtype=fp32"),
)
REFUSAL = "makes vectors, and has nothing to say of a document by itself. Use `longdoc embed` or `Pipeline.embed`"


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_the_walk_of_vectors(run: Any, tmp_path: Path) -> None:
    data, model = tmp_path / "data.jsonl", tmp_path / "model"
    rows = [{"id": d.id, "text": d.text, "label": d.label} for d in documents(12)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    trained = run("train", "--config", CONFIG, *SETTINGS, "--data", data, "--output", model)
    assert "trained on 12 documents" in trained.stdout
    embedded = run("embed", "--model", model, "--input", data, "--output", tmp_path / "vectors")
    assert "12 documents, 0 failed" in embedded.stdout
    assert "vectors of 32 numbers" in embedded.stdout
    for command, output in (("predict", "out"), ("explain", "out.html")):
        refused = run(command, "--model", model, "--input", data, "--output", tmp_path / output, expect=2)
        assert REFUSAL in refused.stderr
        assert not (tmp_path / output).exists()
    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "evaluation", "--texts")
    measured = json.loads((tmp_path / "evaluation" / "metrics.json").read_text())
    assert (measured["task"], measured["documents"], measured["alone"]) == ("embedding", 12, 0)
    assert [row["support"] for row in measured["by_label"]] == [4, 4, 4]
    assert "precision_at_1" in (tmp_path / "evaluation" / "metrics.txt").read_text()
    page = (tmp_path / "evaluation" / "report.html").read_text()
    assert "share of documents whose nearest other has the same label" in page


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_strategies_of_vectors_are_not_compared(run: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps({"text": d.text, "label": d.label}) + "\n" for d in documents(6)))
    given = ("--data", data, "--validation", data, "--output", tmp_path / "out")
    refused = run("compare", "--config", CONFIG, *SETTINGS, *given, expect=2)
    assert "`model.task` must be one with labels, a number or spans, but is embedding instead." in refused.stderr
    assert not (tmp_path / "out").exists()


def test_predictions_of_vectors_are_refused_before_anything_is_written(run: Any, tmp_path: Path, model: Path) -> None:
    """What `longdoc.json` says is enough for it; no weight is read."""
    folder, data = tmp_path / "model", tmp_path / "data.txt"
    shutil.copytree(model, folder)
    described = json.loads((folder / "longdoc.json").read_text())
    described |= {"task": "embedding", "labels": ["vector"], "readout": {"kind": "embedding"}}
    (folder / "longdoc.json").write_text(json.dumps(described))
    (folder / "model.safetensors").unlink()
    data.write_text("a text")
    refused = run("predict", "--model", folder, "--input", data, "--output", tmp_path / "out", expect=2)
    assert REFUSAL in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_the_walk_of_questions_and_their_texts(run: Any, tmp_path: Path) -> None:
    """A record with a question and a text needs no label; both become documents of the run."""
    data, model = tmp_path / "data.jsonl", tmp_path / "model"
    rows = [{"id": d.id, "text": d.text, "question": f"which {d.label}"} for d in documents(8)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = (*SETTINGS, "--set", "model.task=search")
    assert (
        "training: 16 documents, "
        in run("train", "--config", CONFIG, *settings, "--data", data, "--output", model, "--dry-run").stdout
    )
    assert (
        "trained on 16 documents"
        in run("train", "--config", CONFIG, *settings, "--data", data, "--output", model).stdout
    )
    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "evaluation")
    measured = json.loads((tmp_path / "evaluation" / "metrics.json").read_text())
    assert (measured["task"], measured["documents"], measured["questions"]) == ("search", 16, 8)
    assert REFUSAL in run("predict", "--model", model, "--input", data, "--output", tmp_path / "out", expect=2).stderr
    assert "8 documents, 0 failed" in run("embed", "--model", model, "--input", data, "--output", tmp_path / "v").stdout

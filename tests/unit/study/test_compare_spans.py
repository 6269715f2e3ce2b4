"""Reading more or less of a text to find spans in it: how many are found, and whether the rest of the text pays."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from longdoc.cli import app
from longdoc.decide import Decisions
from longdoc.pipeline import Pipeline
from longdoc.readers import load_labelled
from longdoc.tasks import task_named
from longdoc.types import Document, DocumentFailure, DocumentPrediction, LabelledSpan, ScoredSpan

pytestmark = pytest.mark.usefixtures("minilm_folder")


def write(path: Path, count: int, seed: int) -> Path:
    """Documents of some chunks, with a city in every tenth place or so."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text, spans = "", []
            for _ in range(draw.randint(50, 90)):
                is_city = draw.random() < 0.1
                word = draw.choice(["paris", "rome"] if is_city else ["the", "patient", "came", "home", "today"])
                if is_city:
                    spans.append({"start": len(text), "end": len(text) + len(word), "label": "CITY"})
                text += word + " "
            file.write(json.dumps({"id": f"{seed}-{number}", "text": text, "spans": spans}) + "\n")
    return path


@pytest.mark.slow
def test_the_command_compares_what_is_read_where_spans_are_looked_for(tmp_path: Path) -> None:
    sizes = (("train", 24, 1), ("valid", 8, 2), ("test", 10, 3))
    parts = [write(tmp_path / f"{name}.jsonl", count, seed) for name, count, seed in sizes]
    (tmp_path / "run.yaml").write_text(
        "model:\n  task: spans\n  encoder: {width: 32, layers: 1, heads: 2, feed_forward_width: 64, max_len: 32}\n"
        "chunking: {size: 32, overlap: 8}\n"
        "training: {num_train_epochs: 8, per_device_train_batch_size: 4, head_learning_rate: 0.03}\n"
        "prediction: {precision: {device: cpu, dtype: fp32}}\n"
    )
    arguments = ["--config", tmp_path / "run.yaml", "--output", tmp_path / "out"]
    for option, path in zip(("--data", "--validation", "--test"), parts, strict=True):
        arguments += [option, path]
    finished = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert finished.exit_code == 0, finished.output
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    rows = {row["name"]: row for row in found["strategies"]}
    assert list(rows) == ["words, linear tagger", "head", "tail", "head and tail", "all"]
    assert rows["all"]["strict_f1"] > 0.9
    assert rows["words, linear tagger"]["strict_f1"] == 1.0
    assert rows["head"]["strict_f1"] < 0.75, "it does not see most of them"
    assert rows["head"]["tokens"] < rows["head and tail"]["tokens"] < rows["all"]["tokens"]
    assert found["verdict"].startswith("Chunking helps on these documents: use `all` (strict_f1 ")
    assert found["paired_test"]["measure"] == "strict_f1"
    test = load_labelled([parts[2]])
    for name in ("head", "all"):
        pipe = Pipeline.load(tmp_path / "out" / "models" / name)
        given = [[(s.start, s.end) for s in result.spans] for result in pipe.predict(test)]
        right = sum(len({(s.start, s.end) for s in d.spans or ()} & set(g)) for d, g in zip(test, given, strict=True))
        total = sum(len(d.spans or ()) for d in test) + sum(map(len, given))
        assert rows[name]["strict_f1"] == pytest.approx(2 * right / total)
    assert (tmp_path / "out" / "figure.png").is_file()


def test_a_resample_of_strict_f1_is_that_of_its_documents() -> None:
    task = task_named("spans")
    documents = [
        Document(id="a", text="rome or paris", spans=(LabelledSpan(0, 4, "X"), LabelledSpan(8, 13, "X"))),
        Document(id="b", text="nothing", spans=()),
        Document(id="c", text="lima", spans=(LabelledSpan(0, 4, "X"),)),
    ]
    results = [
        DocumentPrediction("a", spans=(ScoredSpan(0, 4, "X", 0.9), ScoredSpan(8, 12, "X", 0.9))),
        DocumentPrediction("b", spans=(ScoredSpan(0, 7, "X", 0.9),)),
        DocumentFailure("c", "empty"),
    ]
    gold, compared = task.gold(documents, ["X"]), task.compared(documents, results, ["X"])
    assert gold.tolist() == [2, 0, 1]
    assert compared.tolist() == [[2, 1], [1, 0], [0, 0]]
    counts = np.array([[1, 1, 1], [2, 0, 0], [0, 0, 3], [0, 0, 0]], dtype=np.float64)
    values = task.resampled(gold, compared, counts)
    assert values.tolist() == pytest.approx([2 / 6, 0.5, 0.0, float("nan")], nan_ok=True)
    assert values[0] == task.metrics(documents, results, ["X"], Decisions(), resamples=0)["strict_f1"]

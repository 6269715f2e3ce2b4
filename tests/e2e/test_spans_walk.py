"""Spans through the commands, as people do it: train, predict, verify, export, evaluate, explain."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from test_walk import longdoc

from longdoc.pipeline import Pipeline
from longdoc.spans import redacted

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.usefixtures("minilm_folder")

NAMES, CITIES = ("Anna Stone", "Bela Rivers", "Carl Hill"), ("Paris", "Rome", "Lima")
FILL = "the patient came to see us and was sent home after a short talk".split()


def write_corpus(path: Path, count: int, seed: int) -> None:
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text, spans = "", []
            for _ in range(draw.randint(5, 90)):
                kind = draw.random()
                word, label = (
                    (draw.choice(NAMES), "NAME") if kind < 0.1 else (draw.choice(CITIES), "CITY") if kind < 0.2
                    else (draw.choice(FILL), None)
                )  # fmt: skip
                if label:
                    spans.append({"start": len(text), "end": len(text) + len(word), "label": label})
                text += word + draw.choice([" ", "  ", "\n", ", "])
            file.write(json.dumps({"id": f"{seed}-{number}", "text": text, "spans": spans}) + "\n")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spans")
    for name, count, seed in (("train", 50, 1), ("valid", 10, 2), ("test", 12, 3)):
        write_corpus(folder / f"{name}.jsonl", count, seed)
    (folder / "config.yaml").write_text(
        "model:\n  task: spans\n  encoder: {width: 32, layers: 1, heads: 2, feed_forward_width: 64, max_len: 32}\n"
        "chunking: {size: 32, overlap: 8}\n"
        "training: {num_train_epochs: 4, per_device_train_batch_size: 4, learning_rate: 1.0e-2}\n"
        "prediction: {precision: {device: cpu, dtype: fp32}}\n"
    )
    finished = longdoc(
        "train", "--config", folder / "config.yaml", "--data", folder / "train.jsonl",
        "--validation", folder / "valid.jsonl", "--output", folder / "model",
    )  # fmt: skip
    assert "strict_f1" in finished.stdout
    return folder


def gold(folder: Path) -> dict[str, list[tuple[int, int, str]]]:
    rows = map(json.loads, (folder / "test.jsonl").read_text().splitlines())
    return {row["id"]: [(s["start"], s["end"], s["label"]) for s in row["spans"]] for row in rows}


def test_metrics_of_each_epoch_are_those_of_spans(walk: Path) -> None:
    lines = [json.loads(line) for line in (walk / "model" / "metrics.jsonl").read_text().splitlines()]
    evaluations = [line for line in lines if line.get("split") == "validation"]
    assert len(evaluations) == 4
    assert "pipeline_tag: token-classification" in (walk / "model" / "README.md").read_text()
    assert max(line["strict_f1"] for line in evaluations) == 1.0
    assert {"exact_f1", "partial_f1", "type_f1", "macro_strict_f1", "loss"} <= evaluations[0].keys()


def test_a_job_gives_exact_places(walk: Path) -> None:
    longdoc("predict", "--model", walk / "model", "--input", walk / "test.jsonl", "--output", walk / "out")
    longdoc("verify", walk / "out")
    table = pq.read_table(walk / "out" / "part-00000.parquet").to_pylist()
    found = {row["id"]: [(s["start"], s["end"], s["label"]) for s in row["spans"]] for row in table}
    assert found == gold(walk)
    assert max(row["n_chunks"] for row in table) > 3
    longdoc("export", walk / "out", walk / "out.jsonl")
    rows = [json.loads(line) for line in (walk / "out.jsonl").read_text().splitlines()]
    assert [row["spans"] for row in rows] == [row["spans"] for row in table]
    longdoc("export", walk / "out", walk / "out.csv")
    with (walk / "out.csv").open(encoding="utf-8-sig") as file:
        written = [json.loads(row["spans"]) for row in csv.DictReader(file)]
    assert written == [row["spans"] for row in rows]


@pytest.mark.slow
def test_evaluation_and_explanation_show_spans(walk: Path) -> None:
    finished = longdoc("evaluate", "--model", walk / "model", "--data", walk / "test.jsonl", "--output", walk / "eval")
    metrics = json.loads((walk / "eval" / "metrics.json").read_text())
    assert (metrics["task"], metrics["strict_f1"], metrics["unanswered"]) == ("spans", 1.0, 0)
    assert metrics["gold_spans"] == sum(map(len, gold(walk).values()))
    assert "type_f1" in finished.stdout
    assert (walk / "eval" / "labels.svg").is_file()
    longdoc("explain", "--model", walk / "model", "--input", walk / "test.jsonl", "--output", walk / "report.html")
    page = (walk / "report.html").read_text()
    assert page.count('<span class="badge"') == metrics["predicted_spans"]
    longdoc("inspect", "model", "--model", walk / "model")


def test_the_pipeline_answers_as_token_classification_does(walk: Path) -> None:
    pipeline = Pipeline.load(walk / "model")
    text = "home, Anna Stone to Lima\n" + "a talk " * 40 + "to Rome"  # words that it has been taught
    found = pipeline(text)
    assert [(item["entity_group"], item["word"]) for item in found] == [
        ("NAME", "Anna Stone"), ("CITY", "Lima"), ("CITY", "Rome"),
    ]  # fmt: skip
    assert all(text[item["start"] : item["end"]] == item["word"] for item in found)
    assert all(type(item["score"]) is float for item in found)
    assert pipeline([text, "a short talk"]) == [found, []]
    (result,) = pipeline.predict([text])
    assert redacted(text, result.spans).startswith("home, [NAME] to [CITY]\n")
    assert redacted(text, result.spans).endswith("to [CITY]")

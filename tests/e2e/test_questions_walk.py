"""Questions through the commands, as people ask them: train, predict, verify, export, evaluate, explain."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from test_walk import longdoc

from longdoc.pipeline import Pipeline

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("minilm_folder")]

NAMES = ("Anna Stone", "Bela Rivers", "Carl Hill", "Dora Field")
FILL = "the patient came to see us and was sent home after a short talk".split()


def write_corpus(path: Path, count: int, seed: int) -> None:
    """One name a document, or none; in the form of SQuAD."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            words = [draw.choice(FILL) for _ in range(draw.randint(5, 90))]
            name = draw.choice(NAMES) if number % 4 else None
            if name:
                words.insert(draw.randint(0, len(words)), name)
            text = " ".join(words)
            said = {"text": [name], "answer_start": [text.index(name)]} if name else {"text": [], "answer_start": []}
            row = {"id": f"{seed}-{number}", "context": text, "question": "Who came?", "answers": said}
            file.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    for name, count, seed in (("train", 80, 1), ("valid", 16, 2), ("test", 16, 3)):
        write_corpus(folder / f"{name}.jsonl", count, seed)
    (folder / "config.yaml").write_text(
        "model:\n  task: question_answering\n"
        "  encoder: {width: 32, layers: 1, heads: 2, feed_forward_width: 64, max_len: 32, token_types: 2}\n"
        "chunking: {size: 32, overlap: 8}\nread: {fields: {text: context}}\n"
        "training: {num_train_epochs: 6, per_device_train_batch_size: 4, learning_rate: 1.0e-2}\n"
        "prediction: {precision: {device: cpu, dtype: fp32}}\n"
    )
    finished = longdoc(
        "train", "--config", folder / "config.yaml", "--data", folder / "train.jsonl",
        "--validation", folder / "valid.jsonl", "--output", folder / "model",
    )  # fmt: skip
    assert "f1" in finished.stdout
    return folder


def gold(folder: Path) -> dict[str, str | None]:
    rows = map(json.loads, (folder / "test.jsonl").read_text().splitlines())
    return {row["id"]: (row["answers"]["text"] or [None])[0] for row in rows}


def test_it_learns_and_says_how_well(walk: Path) -> None:
    lines = [json.loads(line) for line in (walk / "model" / "metrics.jsonl").read_text().splitlines()]
    best = max(line["f1"] for line in lines if line.get("split") == "validation")
    assert best > 0.9
    described = json.loads((walk / "model" / "longdoc.json").read_text())
    assert described["readout"]["no_answer"] is True, "as the data have it"
    assert "pipeline_tag: question-answering" in (walk / "model" / "README.md").read_text()
    longdoc("evaluate", "--model", walk / "model", "--data", walk / "test.jsonl", "--output", walk / "eval",
            "--set", "read.fields.text=context")  # fmt: skip
    metrics = json.loads((walk / "eval" / "metrics.json").read_text())
    assert metrics["f1"] > 0.9
    ends = metrics["intervals"]["has_answer_f1"]  # None where every answer is right
    assert (metrics["has_answer_f1"] == 1.0) if ends is None else (ends[1] == 1.0)
    rows = [json.loads(line) for line in (walk / "eval" / "predictions.jsonl").read_text().splitlines()]
    assert {row["question"] for row in rows} == {"Who came?"}


def test_a_job_answers_every_document(walk: Path) -> None:
    longdoc("predict", "--model", walk / "model", "--input", walk / "test.jsonl", "--output", walk / "out",
            "--set", "read.fields.text=context")  # fmt: skip
    longdoc("verify", walk / "out")
    rows = pq.read_table(walk / "out" / "part-00000.parquet").to_pylist()
    right = gold(walk)
    assert sum(right[row["id"]] == row["answer"] for row in rows) >= 14
    assert max(row["n_chunks"] for row in rows) > 3
    longdoc("export", walk / "out", walk / "out.csv")
    with (walk / "out.csv").open(encoding="utf-8-sig") as file:
        cells = list(csv.DictReader(file))
    assert [(cell["question"], cell["answer"] or None) for cell in cells] == [
        ("Who came?", row["answer"]) for row in rows
    ]
    longdoc("explain", "--model", walk / "model", "--input", walk / "test.jsonl", "--output", walk / "report.html",
            "--set", "read.fields.text=context")  # fmt: skip
    assert (walk / "report.html").read_text().count("Question: <bdi>Who came?</bdi>") == 16
    longdoc("inspect", "model", "--model", walk / "model")


def test_the_pipeline_answers_as_question_answering_did(walk: Path) -> None:
    pipeline = Pipeline.load(walk / "model")
    text = "a short talk " * 30 + "and Anna Stone was sent home " + "after a talk " * 30
    found = pipeline(question="Who came?", context=text)
    assert found == {"score": found["score"], "start": 394, "end": 404, "answer": "Anna Stone"}
    assert found["score"] > 0.5

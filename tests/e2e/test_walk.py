"""A configuration file, a few steps of training, predictions, a job, a page: through the commands, as people do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.usefixtures("minilm_folder")


def longdoc(*arguments: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    finished = subprocess.run(
        [sys.executable, "-m", "longdoc", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert finished.returncode == expect, finished.stdout + finished.stderr
    return finished


def write_corpus(path: Path, count: int, first: int = 0) -> None:
    kinds = {"animal": "the cat and the dog sleep near the horse", "plant": "a tree and a flower grow in the garden"}
    with path.open("w", encoding="utf-8") as file:
        for number in range(first, first + count):
            label = list(kinds)[number % 2]
            text = " ".join([kinds[label]] * (1 + 5 * (number % 4)))
            file.write(json.dumps({"id": f"doc-{number}", "text": text, "label": label}) + "\n")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a model trained by the command."""
    folder = tmp_path_factory.mktemp("walk")
    write_corpus(folder / "train.jsonl", 24)
    write_corpus(folder / "valid.jsonl", 8, first=100)
    finished = longdoc(
        "train", "--config", ROOT / "configs" / "debug_tiny.yaml", "--set", "training.num_train_epochs=6",
        "--set", "training.learning_rate=5e-3",
        "--data", folder / "train.jsonl", "--validation", folder / "valid.jsonl", "--output", folder / "model",
    )  # fmt: skip
    assert "trained on 24 documents" in finished.stdout
    return folder


def test_training_leaves_a_model_folder_and_metrics(walk: Path) -> None:
    lines = [json.loads(line) for line in (walk / "model" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "split" not in line]
    evaluations = [line for line in lines if line.get("split") == "validation"]
    assert {"step", "epoch", "loss", "learning_rate", "tokens_per_second"} <= steps[0].keys()
    assert len(evaluations) == 6
    assert steps[-1]["loss"] < steps[0]["loss"]
    assert max(e["accuracy"] for e in evaluations) == 1.0, "two kinds of words are told apart"
    names = {path.name for path in (walk / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "longdoc.json", "README.md"} <= names
    resolved = yaml.safe_load((walk / "model" / "config.resolved.yaml").read_text())
    assert resolved["training"]["num_train_epochs"] == 6


def test_a_second_training_into_the_same_folder_is_refused(walk: Path) -> None:
    finished = longdoc("train", "--data", walk / "train.jsonl", "--output", walk / "model", expect=2)
    assert "holds a model already" in finished.stderr


def test_predict_verify_export_and_the_library_agree(walk: Path) -> None:
    import longdoc as library

    longdoc("predict", "--model", walk / "model", "--input", walk / "valid.jsonl", "--output", walk / "out",
            "--set", "job.documents_per_part=3")  # fmt: skip
    assert "8 documents in 3 parts, each exactly once" in longdoc("verify", walk / "out").stdout
    longdoc("export", walk / "out", walk / "out.jsonl")
    rows = [json.loads(line) for line in (walk / "out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"doc-{n}" for n in range(100, 108)]
    assert all(row["tokens_read"] == row["n_tokens"] > 0 for row in rows)
    pipe = library.Pipeline.load(walk / "model")
    documents = [library.Document(**{k: v for k, v in json.loads(line).items() if k != "label"})
                 for line in (walk / "valid.jsonl").read_text().splitlines()]  # fmt: skip
    answers = [result.to_dict() for result in pipe.predict(documents)]
    assert [(a["label"], a["score"]) for a in answers] == [(r["label"], r["score"]) for r in rows], "bit for bit"
    again = longdoc("predict", "--model", walk / "model", "--input", walk / "valid.jsonl", "--output", walk / "out",
                    "--set", "job.documents_per_part=3")  # fmt: skip
    assert "already complete, nothing written" in again.stdout


def test_evaluate_writes_metrics_with_intervals(walk: Path) -> None:
    finished = longdoc("evaluate", "--model", walk / "model", "--data", walk / "valid.jsonl", "--output", walk / "eval")
    metrics = json.loads((walk / "eval" / "metrics.json").read_text())
    assert metrics["documents"] == 8
    assert metrics["accuracy"] == 1.0
    assert set(metrics["intervals"]) >= {"accuracy", "macro_f1"}
    assert "accuracy" in finished.stdout
    assert len((walk / "eval" / "predictions.jsonl").read_text().splitlines()) == 8


def test_explain_writes_a_page_that_adds_up(walk: Path) -> None:
    import longdoc as library

    longdoc("explain", "--model", walk / "model", "--input", walk / "valid.jsonl", "--output", walk / "report.html")
    page = (walk / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1, "the page's own"
    assert "doc-103" in page
    pipe = library.Pipeline.load(walk / "model")
    result = pipe.explain("the cat and the dog sleep near the horse. " * 30)
    index = pipe.labels.index(result.label)
    assert sum(passage.weight for passage in result.evidence) == pytest.approx(result.logits[index], abs=1e-4)


def test_the_call_is_shaped_as_in_transformers(walk: Path) -> None:
    import longdoc as library

    pipe = library.Pipeline.load(walk / "model")
    animal, plant = ("the cat and the dog sleep near the horse", "a tree and a flower grow in the garden")
    (one,) = pipe(plant)
    assert set(one) == {"label", "score"}
    assert type(one["score"]) is float
    assert [a["label"] for a in pipe([plant, animal])] == ["plant", "animal"]
    both = pipe(plant, top_k=None)
    assert [item["label"] for item in both] == ["plant", "animal"]
    assert both[0]["score"] >= both[1]["score"]
    json.dumps(both)


def test_a_saved_pipeline_answers_with_the_same_bits(walk: Path, tmp_path: Path) -> None:
    import longdoc as library

    pipe = library.Pipeline.load(walk / "model")
    pipe.save(tmp_path / "copy")
    again = library.Pipeline.load(tmp_path / "copy")
    text = "the horse in the garden " * 50
    assert pipe.predict([text])[0].logits == again.predict([text])[0].logits


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary", "none"])
@pytest.mark.parametrize("merger", ["mean", "max", "attention"])
def test_any_position_encoding_and_merger_trains_by_changing_one_word(kind: str, merger: str, tmp_path: Path) -> None:
    import longdoc as library

    config = library.load_config(
        ROOT / "configs" / "debug_tiny.yaml",
        [f"model.encoder.position={{kind: {kind}}}", f"model.readout.merger={{kind: {merger}}}",
         "training.learning_rate=5e-3", "training.num_train_epochs=4",
         "prediction.precision.device=cpu"],
    )  # fmt: skip
    documents = [
        library.Document(id=str(n), text=["the cat sleeps ", "a tree grows "][n % 2] * (1 + n), label="ab"[n % 2])
        for n in range(12)
    ]
    pipe = library.train(config, tmp_path / "model", train_documents=documents, validation_documents=documents)
    losses = [json.loads(line)["loss"] for line in (tmp_path / "model" / "metrics.jsonl").read_text().splitlines()
              if "split" not in line]  # fmt: skip
    assert losses[-1] < losses[0]
    assert len(pipe.predict(["the cat sleeps " * 100])[0].logits) == 2


@pytest.mark.parametrize(
    ("task", "fields"),
    [
        ("multi_label", [{"labels": ("a",)}, {"labels": ("b", "a")}, {"labels": ()}]),
        ("regression", [{"target": 1.0}, {"target": -2.0}, {"target": 0.0}]),
    ],
)
def test_the_other_tasks_train_too(task: str, fields: list[dict], tmp_path: Path) -> None:
    import longdoc as library

    config = library.load_config(
        ROOT / "configs" / "debug_tiny.yaml", [f"model.task={task}", "prediction.precision.device=cpu"]
    )
    texts = ["the cat sleeps ", "a tree grows ", "rain "]
    documents = [library.Document(id=str(n), text=texts[n % 3] * (1 + n), **fields[n % 3]) for n in range(9)]
    pipe = library.train(config, tmp_path / "model", train_documents=documents, validation_documents=documents)
    (result,) = pipe.predict(["the cat sleeps " * 60])
    row = result.to_dict()
    if task == "regression":
        assert isinstance(row["value"], float)
        assert row["label"] is None
    else:
        assert {item["label"] for item in row["labels"]} == {"a", "b"}
        assert all(isinstance(item["chosen"], bool) for item in row["labels"])


def test_a_frozen_encoder_gives_the_model_that_steps_through_the_encoder_would(tmp_path: Path) -> None:
    """With the encoder frozen the rows are computed once; the weights must be those of the slow way."""
    import longdoc as library

    documents = [
        library.Document(id=str(n), text=["the cat sleeps ", "a tree grows "][n % 2] * (1 + n), label="ab"[n % 2])
        for n in range(8)
    ]
    base = ["prediction.precision.device=cpu", "model.encoder.dropout=0", "model.encoder.attention_dropout=0",
            "training.head_learning_rate=1e-2", "training.max_grad_norm=1e9"]  # fmt: skip
    path = ROOT / "configs" / "debug_tiny.yaml"
    frozen = library.load_config(path, [*base, "training.freeze=[encoder]"])
    # A rate too small to move a float32 weight, with one part left unfrozen: the steps go through the encoder.
    stepping = library.load_config(path, [*base, "training.freeze=[encoder.layers]", "training.learning_rate=1e-30"])
    fast = library.train(frozen, tmp_path / "fast", train_documents=documents)
    slow = library.train(stepping, tmp_path / "slow", train_documents=documents)
    (one,), (other,) = (pipe.predict(["the cat grows " * 20]) for pipe in (fast, slow))
    assert one.logits == pytest.approx(other.logits, abs=1e-5)
    assert one.logits != pytest.approx(library.Pipeline.load(tmp_path / "fast").predict(["a tree"])[0].logits, abs=1e-5)

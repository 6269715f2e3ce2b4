"""Vectors that are learned: what is trained is what `embed` gives, and a stopped run goes on as if it had not been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from longdoc.api import build_pipeline, train_with_report
from longdoc.config import RunConfig, load_config
from longdoc.embedding import EmbeddingConfig, open_embedder
from longdoc.errors import ConfigurationError, DataError
from longdoc.nn.readout import EmbeddingReadoutConfig, VectorsReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.text.batching import collate
from longdoc.training.evaluation import evaluate_documents
from longdoc.types import Document
from training_kit import CONFIG, documents, lines, run, stopped

PLACE = ("prediction.precision.device=cpu", "prediction.precision.dtype=fp32")


def config(*overrides: str) -> RunConfig:
    given = ("model.readout={kind: embedding}", "model.task=embedding", *PLACE, *overrides)
    return load_config(CONFIG, given)


@pytest.fixture(scope="module")
def untrained(minilm_folder: Path) -> Pipeline:
    return build_pipeline(config(), ("vector",))


def trained_vectors(pipeline: Pipeline, document: Document) -> np.ndarray:
    """What the loss sees of one document, all its chunks in one batch, with length 1."""
    (prepared,) = pipeline.prepare([document])
    chunks = list(prepared.chunks)
    batch = collate(chunks, [0] * len(chunks), 1, pipeline.tokenizer.pad_id)
    with torch.inference_mode():
        (vector,) = pipeline.model(batch).double().numpy()
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.mark.parametrize("pooling", ["mean", *(pytest.param(name, marks=pytest.mark.slow) for name in ("max", "cls"))])
def test_what_is_trained_is_what_embed_gives(tmp_path: Path, pooling: str, minilm_folder: Path) -> None:
    """Long and short documents, from a saved folder and from the pipeline itself."""
    pipeline = build_pipeline(config(f"model.readout.pooling={pooling}"), ("vector",))
    pipeline.save(tmp_path / "model")
    given = documents(6)
    expected = np.stack([trained_vectors(pipeline, document) for document in given])
    stored = Pipeline.load(tmp_path / "model", pipeline.prediction)
    embedder = open_embedder(tmp_path / "model", precision=pipeline.prediction.precision)
    for found in (pipeline.embed(given), stored.embed(given), list(embedder.stream(given))):
        assert max(item.n_chunks for item in found) > 3
        np.testing.assert_allclose(np.stack([item.vector for item in found]), expected, atol=2e-6)
    (raw,) = stored.embed(given[:1], settings=EmbeddingConfig(normalize=False))
    assert not np.isclose(np.linalg.norm(raw.vector), 1.0, atol=1e-3)


def test_training_brings_alike_documents_together(tmp_path: Path, untrained: Pipeline) -> None:
    train, validation = documents(12), documents(12, first=40, prefix="v")
    _, before = evaluate_documents(untrained, validation)
    pipeline, report = train_with_report(config("training.num_train_epochs=3"), tmp_path / "out", train, validation)
    _, after = evaluate_documents(pipeline, validation)
    assert after["loss"] < before["loss"]
    assert after["mean_average_precision"] == report.best > before["mean_average_precision"]
    assert {key: report.validation[key] for key in ("documents", "alone")} == {"documents": 12, "alone": 0}
    written = json.loads((tmp_path / "out" / "longdoc.json").read_text())
    assert written["readout"] == {"kind": "embedding", "pooling": None, "temperature": 0.1}
    assert written["labels"] == ["vector"], "labels of documents are no part of the model"


def test_labels_of_validation_documents_may_be_new(tmp_path: Path, minilm_folder: Path) -> None:
    new = [Document(id=f"n{n}", text=f"sea and sail {n} " * 9, label=("boat", "ship")[n % 2]) for n in range(4)]
    train_with_report(config("training.num_train_epochs=1"), tmp_path / "out", documents(8), new)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path, untrained: Pipeline) -> None:
    validation = documents(6, first=30, prefix="v")
    run(untrained, tmp_path / "whole", "save_steps=1", validation=validation)
    stopped(untrained, tmp_path / "parts", "save_steps=1", validation=validation, stop_after=2)
    run(untrained, tmp_path / "parts", "save_steps=1", validation=validation)
    assert lines(tmp_path / "parts") == lines(tmp_path / "whole")


@pytest.mark.parametrize(
    ("train", "overrides", "error", "message"),
    [
        (documents(3), (), DataError, "each of 3 has a label that no other has"),
        (documents(6), ("training.per_device_train_batch_size=1",), ConfigurationError, "not one holds both"),
        (documents(6), ("training.per_device_train_batch_size=2",), ConfigurationError, "not one holds both"),
        ([Document(id="a", text="b")], (), DataError, "needs the field `label` in every training document"),
        (documents(6), ("training.freeze=[encoder]",), ConfigurationError, "must leave something to train"),
        (documents(6), ("model.labels=[a, b]",), ConfigurationError, "must be null for the task embedding"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_before_the_first_step(
    tmp_path: Path, train: list[Document], overrides: tuple[str, ...], error: Any, message: str, minilm_folder: Path
) -> None:
    with pytest.raises(error, match=message):
        train_with_report(config(*overrides), tmp_path / "out", train, [])
    assert not (tmp_path / "out" / "metrics.jsonl").exists()


def test_documents_that_meet_nobody_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, minilm_folder: Path
) -> None:
    train = [*documents(6), Document(id="x", text="alone", label="secret")]
    train_with_report(config("training.num_train_epochs=1"), tmp_path / "out", train, [])
    said = [record.getMessage() for record in caplog.records if "alike" in record.getMessage()]
    assert said == ["1 training document of 7 has nothing here that is alike: only others are told apart from it."]


def test_a_run_pools_as_its_checkpoint_says(minilm_folder: Path) -> None:
    configured = build_pipeline(load_config(overrides=["model.task=embedding", *PLACE]), ("vector",))
    assert configured.settings.readout == EmbeddingReadoutConfig(pooling="mean")


@pytest.mark.slow
def test_a_pipeline_from_a_checkpoint_pools_as_it_says_unless_it_is_asked_otherwise(minilm_folder: Path) -> None:
    asked = Pipeline.from_checkpoint(minilm_folder, task="embedding", readout=EmbeddingReadoutConfig(pooling="cls"))
    silent = Pipeline.from_checkpoint(minilm_folder, task="embedding")
    assert asked.settings.readout == EmbeddingReadoutConfig(pooling="cls")
    assert silent.settings.readout == EmbeddingReadoutConfig(pooling="mean")
    assert (silent.labels, silent.task.name) == (("vector",), "embedding")


def test_the_pooling_of_a_folder_is_read_for_vectors_only(tmp_path: Path) -> None:
    from longdoc.checkpoints.sentence_transformers import pooled_as_before

    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "modules.json").write_text(json.dumps([{"type": "st.models.Pooling", "path": "1_Pooling"}]))
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert pooled_as_before(EmbeddingReadoutConfig(), tmp_path) == EmbeddingReadoutConfig(pooling="cls")
    assert pooled_as_before(EmbeddingReadoutConfig(pooling="max"), tmp_path) == EmbeddingReadoutConfig(pooling="max")
    assert pooled_as_before(VectorsReadoutConfig(), tmp_path) == VectorsReadoutConfig()

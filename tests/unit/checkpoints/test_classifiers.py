"""Fine-tuned classifiers of transformers; that their logits are the same stands in the contract of families."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from family_kit import saved, their_model
from longdoc.checkpoints.classifiers import load_classifier
from longdoc.errors import CheckpointError
from longdoc.text.chunking import ChunkingConfig


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(their_model("bert", "classifier", num_labels=3, num_hidden_layers=1), tmp_path)


def reconfigure(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


def test_labels_task_chunking_and_dropout_are_read(folder: Path) -> None:
    reconfigure(
        folder,
        id2label={"0": "no", "1": "maybe", "2": "yes"},
        problem_type="multi_label_classification",
        classifier_dropout=0.25,
    )
    model, settings = load_classifier(folder)
    assert (settings.labels, settings.task) == (("no", "maybe", "yes"), "multi_label")
    assert settings.chunking == ChunkingConfig(size=66, overlap=16)
    assert model.readout.head.dropout.p == settings.readout.head.dropout == 0.25
    assert settings.source == str(folder)
    chunking = ChunkingConfig(size=32, overlap=4)
    assert load_classifier(folder, chunking=chunking)[1].chunking == chunking


def test_an_encoder_alone_is_no_classifier(tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    message = (
        f"`architectures` in `{folder / 'config.json'}` must name a sequence classification model, but ['BertModel'] "
        "does not. Fine-tune the encoder first: `longdoc train` does."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_classifier(folder)


def test_a_head_that_is_not_there_is_not_made_up(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["classifier.weight"]
    save_file(tensors, folder / "model.safetensors")
    message = (
        f"`{folder}` must hold exactly the tensors that its configuration describes, but does not. Missing: "
        "classifier.weight. Check that `config.json` and the weights belong together, and fetch the checkpoint again "
        "if it is damaged."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_classifier(folder)

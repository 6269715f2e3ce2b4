"""Our model folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from family_kit import saved, their_model
from longdoc.checkpoints import load_encoder, native
from longdoc.checkpoints.native import ModelSettings, load_model, model_fingerprint, save_encoder, save_model
from longdoc.errors import CannotWriteError, CheckpointError
from longdoc.model import LongDocModel
from longdoc.nn import Encoder
from longdoc.nn.position import NoPosition
from longdoc.text.chunking import ChunkingConfig
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document
from nn_kit import batch_of, some_ids, tiny_config, tiny_encoder, tiny_model

SETTINGS = ModelSettings(
    task="multi_label",
    labels=("a", "b", "ç"),
    chunking=ChunkingConfig(size=64, overlap=8),
    readout={"kind": "vectors", "pooling": "max", "merger": {"kind": "attention", "hidden": 5}},
    source="default",
)


@pytest.fixture(scope="module")
def tokenizer(minilm_folder: Path) -> DocumentTokenizer:
    return DocumentTokenizer.from_folder(minilm_folder)


@pytest.fixture
def folder(tmp_path: Path, tokenizer: DocumentTokenizer) -> Path:
    save_model(tmp_path / "model", own_model(), SETTINGS, tokenizer, "# A card\n")
    return tmp_path / "model"


def own_model(**changes: Any) -> LongDocModel:
    fields = {"readout": SETTINGS.readout.model_dump(), "position": {"kind": "sinusoidal"}, "vocab_size": 30522}
    return tiny_model(**fields | changes)


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def test_an_encoder_of_our_own_comes_back_bit_for_bit(folder: Path, tokenizer: DocumentTokenizer) -> None:
    model, settings, loaded_tokenizer = load_model(folder)
    assert settings == SETTINGS
    assert not model.training
    expected = own_model()
    assert model.encoder.config == expected.encoder.config
    assert model.state_dict().keys() == expected.state_dict().keys()
    assert all(torch.equal(tensor, expected.state_dict()[name]) for name, tensor in model.state_dict().items())
    batch = batch_of(torch.tensor([some_ids(9), some_ids(9, seed=1)]), owner=[0, 0])
    assert torch.equal(model(batch), expected(batch))
    text = Document(id="1", text="Heart failure, 42 mg; naïve")
    assert loaded_tokenizer.tokenize(text).token_ids.tolist() == tokenizer.tokenize(text).token_ids.tolist()
    assert (folder / "README.md").read_text() == "# A card\n"


def test_the_folder_has_the_layout_that_transformers_users_know(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "longdoc"
    assert config["hidden_size"] == 16
    assert config["id2label"] == {"0": "a", "1": "b", "2": "ç"}
    assert config["label2id"] == {"a": 0, "b": 1, "ç": 2}
    assert config["problem_type"] == "multi_label_classification"
    described = json.loads((folder / "longdoc.json").read_text(encoding="utf-8"))
    assert described["chunking"] == {
        "size": 64,
        "overlap": 8,
        "keep": "all",
        "axes": [],
        "languages": [],
        "borders": None,
    }
    assert described["readout"]["merger"] == {"kind": "attention", "hidden": 5}
    assert {name.split(".")[1] for name in load_file(folder / "model.safetensors")} == {"encoder", "readout"}
    assert {path.name for path in folder.iterdir()} >= {"tokenizer.json", "tokenizer_config.json", "README.md"}


def test_auto_tokenizer_opens_the_folder(folder: Path, minilm_folder: Path) -> None:
    from transformers import AutoTokenizer

    text = "Größe, naïve [SEP] 42"
    assert (
        AutoTokenizer.from_pretrained(folder)(text).input_ids
        == AutoTokenizer.from_pretrained(minilm_folder)(text).input_ids
    )


def test_saving_what_was_loaded_gives_the_same_bytes(
    folder: Path, tmp_path: Path, tokenizer: DocumentTokenizer, minilm_folder: Path
) -> None:
    model, settings, loaded_tokenizer = load_model(folder)
    save_model(tmp_path / "again", model, settings, loaded_tokenizer, "another card")
    assert model_fingerprint(tmp_path / "again") == model_fingerprint(folder)
    encoder = load_encoder(saved(their_model("bert", vocab_size=30522), tmp_path / "theirs"))
    bert = LongDocModel(encoder, SETTINGS.readout.build(48, 3))
    save_model(tmp_path / "one", bert, SETTINGS, tokenizer, "")
    save_model(tmp_path / "two", *load_model(tmp_path / "one"), card="")
    assert model_fingerprint(tmp_path / "one") == model_fingerprint(tmp_path / "two")
    names = load_file(tmp_path / "two" / "model.safetensors").keys()
    assert "bert.pooler.dense.weight" in names, "carried along"
    assert "longdoc.readout.merger.score.weight" in names


def test_the_fingerprint_follows_what_decides_predictions_and_nothing_else(folder: Path) -> None:
    before = model_fingerprint(folder)
    (folder / "README.md").write_text("changed")
    (folder / "metrics.jsonl").write_text("{}")
    assert model_fingerprint(folder) == before
    seen = {before}
    for name in ("config.json", "longdoc.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        seen.add(model_fingerprint(folder))
        (folder / name).write_bytes(content)
    assert len(seen) == 6
    assert model_fingerprint(folder) == before


def test_an_encoder_alone_is_saved_and_opened(tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    encoder = tiny_encoder(position={"kind": "rotary"}, norm="pre", feed_forward="gated", window=4)
    save_encoder(tmp_path / "encoder", encoder, tokenizer)
    again = load_encoder(tmp_path / "encoder")
    assert again.config == encoder.config
    ids = torch.tensor([some_ids(20)])
    assert torch.equal(again(ids), encoder(ids))
    message = (
        f"`{tmp_path / 'encoder'}` must be a model that answers, but `architectures` in its `config.json` names "
        "LongDocModel: an encoder without a head that does. Train one on it first: `longdoc train --set "
        f"model.source={tmp_path / 'encoder'} --data ... --output ...`."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_model(tmp_path / "encoder")


def test_the_encoder_of_a_model_folder_is_opened_alone(folder: Path) -> None:
    ids = torch.tensor([some_ids(7)])
    assert torch.equal(load_encoder(folder)(ids), own_model().encoder(ids))


def test_an_encoding_of_your_own_cannot_be_saved(tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    encoder = Encoder(tiny_config(), position=NoPosition())
    message = (
        "`position` of an encoder must be the kind that its configuration names (learned) for it to be saved, but is "
        "NoPosition instead. An encoding of your own cannot be described in a file."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        save_encoder(tmp_path / "encoder", encoder, tokenizer)
    assert list(tmp_path.iterdir()) == []


def test_a_family_that_does_not_exist_cannot_be_saved(tmp_path: Path, tokenizer: DocumentTokenizer) -> None:
    with pytest.raises(CheckpointError, match=r"^`family` must be one of bert.* or null, but is 'dna' instead\.$"):
        save_encoder(tmp_path / "encoder", tiny_encoder(family="dna"), tokenizer)


def test_a_readout_that_lacks_tensors_is_refused(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["longdoc.readout.head.output.bias"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(
        CheckpointError, match=r"but does not\. Missing: longdoc\.readout\.head\.output\.bias\. Check that"
    ):
        load_model(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": 2},
            "`format` in `{file}` must be 1, but is not. The folder was written by another version of longdoc; use "
            "that one.",
        ),
        (
            {"chunking": {"size": 64, "overlap": 64}, "surprise": 1},
            "`{file}` must describe a model, but these entries are wrong: chunking, surprise.",
        ),
        (
            {"labels": ["b", "a", "ç"]},
            "`labels` in `{file}` and `id2label` in `config.json` must name the same labels in the same order, but do "
            "not. One of the files was changed; change the other too.",
        ),
    ],
)
def test_a_description_that_does_not_fit_is_refused(folder: Path, changes: dict, message: str) -> None:
    change_json(folder / "longdoc.json", **changes)
    with pytest.raises(CheckpointError, match=f"^{re.escape(message.format(file=folder / 'longdoc.json'))}$"):
        load_model(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "t5"}, r"^`model_type` in `.*` must be one of bert.*, longdoc, but is 't5' instead\. Choose"),
        ({"longdoc_encoder": None}, r"^`longdoc_encoder` must be in `.*config\.json`, but is not\.$"),
        (
            {"longdoc_encoder": {"width": 15}},
            r"^`config\.json` must describe an encoder, but does not: `configuration`",
        ),
    ],
)
def test_a_configuration_that_describes_no_encoder_is_refused(folder: Path, changes: dict, message: str) -> None:
    change_json(folder / "config.json", **changes)
    with pytest.raises(CheckpointError, match=message):
        load_encoder(folder)


@pytest.mark.parametrize("labels", [(), ("a", "a")])
def test_labels_are_distinct_and_at_least_one(labels: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings(labels=labels)


def test_a_full_disk_that_the_weight_library_meets_is_our_error_and_leaves_nothing(
    tmp_path: Path, tokenizer: DocumentTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr(native, "save_file", full)
    message = f"^the weights cannot be written into {re.escape(str(tmp_path))}. Make room or choose another output\\.$"
    with pytest.raises(CannotWriteError, match=message):
        save_model(tmp_path / "model", own_model(), SETTINGS, tokenizer)
    assert list(tmp_path.iterdir()) == []

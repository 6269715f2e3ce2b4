"""Taggers and question answerers that are saved again: transformers opens them with the same bits, and so do we."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForQuestionAnswering, AutoModelForTokenClassification

import family_kit
from family_kit import TINY, arguments, pad_id_of, ragged, reconfigure, saved, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.answerers import load_question_answerer
from longdoc.checkpoints.native import load_model, save_model
from longdoc.checkpoints.opening import FAMILIES
from longdoc.checkpoints.settings import ModelSettings
from longdoc.checkpoints.taggers import load_span_finder
from longdoc.errors import CheckpointError
from longdoc.model import LongDocModel
from longdoc.nn.heads import DenseHeadConfig
from longdoc.nn.readout import TokensReadoutConfig
from longdoc.text.tokenizing import DocumentTokenizer
from nn_kit import batch_of
from tokenizer_kit import toy

family_kit.AUTO["answerer"] = AutoModelForQuestionAnswering
TAGS = {0: "B-LOC", 1: "O", 2: "I-LOC", 3: "B-PER", 4: "I-PER"}
QUICK = ("bert", "roberta")


def those_with(kind: str) -> list[object]:
    return [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name, family in FAMILIES.items()
        if name in TINY and getattr(family, kind) is not None
    ]


@pytest.fixture(scope="module")
def tokenizer() -> DocumentTokenizer:
    return toy()


@pytest.fixture(autouse=True)
def no_tokenizer_is_opened(tokenizer: DocumentTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DocumentTokenizer, "from_folder", lambda folder: tokenizer)  # opening one takes longest here


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(their_model("bert"), tmp_path_factory.mktemp("bert"))


def finder(source: Path, readout: TokensReadoutConfig) -> tuple[LongDocModel, ModelSettings]:
    """A model that finds spans as training makes it."""
    settings = ModelSettings(task="spans", labels=("LOC", "PER"), readout=readout)
    encoder = load_encoder(source)
    torch.manual_seed(0)
    return LongDocModel(encoder, readout.build(encoder.config.width, settings.scores)).eval(), settings


def opened(folder: Path, kind: type) -> torch.nn.Module:
    """What transformers makes of a folder, once nothing of its model was missing there."""
    model, report = kind.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["mismatched_keys"]
    assert isinstance(model, torch.nn.Module)
    return model.eval()


@pytest.mark.parametrize("family", those_with("tagger"))
def test_a_tagger_saved_again_is_the_same_in_transformers_and_here(
    family: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    theirs = their_model(family, "tagger", num_labels=5, id2label=TAGS)
    model, settings = load_span_finder(saved(theirs, tmp_path / "theirs"))
    save_model(tmp_path / "ours", model, settings, tokenizer, "a card")
    again = opened(tmp_path / "ours", AutoModelForTokenClassification)
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in again.state_dict().items())
    assert again.config.id2label == TAGS
    assert again.config.architectures == [type(theirs).__name__]
    loaded, loaded_settings, _ = load_model(tmp_path / "ours")
    assert loaded_settings == settings
    ids, valid = ragged((9, 5), pad_id_of(family))
    with torch.no_grad():
        assert torch.equal(loaded(batch_of(ids, valid)), model(batch_of(ids, valid)))
        expected = theirs(**arguments(theirs, ids, valid)).logits
        assert torch.equal(again(**arguments(theirs, ids, valid)).logits, expected)


@pytest.mark.parametrize("family", those_with("answerer"))
def test_a_question_answerer_saved_again_is_the_same_in_transformers_and_here(
    family: str, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    theirs = their_model(family, "answerer")
    model, settings = load_question_answerer(saved(theirs, tmp_path / "theirs"))
    save_model(tmp_path / "ours", model, settings, tokenizer, "a card")
    again = opened(tmp_path / "ours", AutoModelForQuestionAnswering)
    assert all(torch.equal(tensor, theirs.state_dict()[name]) for name, tensor in again.state_dict().items())
    assert again.config.num_labels == 2
    assert again.config.architectures == [type(theirs).__name__]
    loaded, loaded_settings, _ = load_model(tmp_path / "ours")
    assert loaded_settings == settings
    for name, tensor in model.readout.state_dict().items():
        assert torch.equal(loaded.readout.state_dict()[name], tensor)
    ids, valid = ragged((9, 5), pad_id_of(family))
    with torch.no_grad():
        out, expected = (each(**arguments(theirs, ids, valid)) for each in (again, theirs))
    assert torch.equal(out.start_logits, expected.start_logits)
    assert torch.equal(out.end_logits, expected.end_logits)


@pytest.mark.parametrize(
    ("readout", "names"),
    [
        (TokensReadoutConfig(), ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]),
        (
            TokensReadoutConfig(scheme="bioes"),
            ["O", "B-LOC", "I-LOC", "E-LOC", "S-LOC", "B-PER", "I-PER", "E-PER", "S-PER"],
        ),
        (TokensReadoutConfig(decoder="crf"), ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]),
    ],
    ids=["bio", "bioes", "crf"],
)
def test_a_trained_finder_has_the_names_of_its_tags_and_what_transformers_lacks_stays_beside(
    readout: TokensReadoutConfig, names: list[str], bert: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    model, settings = finder(bert, readout)
    save_model(tmp_path, model, settings, tokenizer)
    again = opened(tmp_path, AutoModelForTokenClassification)
    assert list(again.config.id2label.values()) == names
    ids, valid = ragged((9, 5))
    with torch.no_grad():
        states = model.encoder(ids, valid)
        assert torch.equal(
            again(**arguments(again, ids, valid)).logits[valid], model.readout.head.output(states)[valid]
        )
    loaded, loaded_settings, _ = load_model(tmp_path)
    assert loaded_settings == settings
    assert loaded.readout.state_dict().keys() == model.readout.state_dict().keys()
    for name, tensor in model.readout.state_dict().items():
        assert torch.equal(loaded.readout.state_dict()[name], tensor)
    beside = {name for name in load_file(tmp_path / "model.safetensors") if name.startswith("longdoc.")}
    assert beside == {
        f"longdoc.readout.{name}" for name in model.readout.state_dict() if not name.startswith("head.output.")
    }


@pytest.mark.parametrize(
    "readout",
    [TokensReadoutConfig(overlapping=True), TokensReadoutConfig(head=DenseHeadConfig())],
    ids=["layers", "another head"],
)
def test_what_no_tagger_of_the_family_does_is_saved_as_an_encoder_and_ours(
    readout: TokensReadoutConfig, bert: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    model, settings = finder(bert, readout)
    save_model(tmp_path, model, settings, tokenizer)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["BertModel"]
    assert config["id2label"] == {"0": "LOC", "1": "PER"}
    loaded, _, _ = load_model(tmp_path)
    for name, tensor in model.readout.state_dict().items():
        assert torch.equal(loaded.readout.state_dict()[name], tensor)


def test_folders_from_before_are_opened_and_names_that_are_not_the_tags_are_refused(
    bert: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    model, settings = finder(bert, TokensReadoutConfig())
    save_model(tmp_path, model, settings, tokenizer)
    reconfigure(tmp_path, id2label={"0": "LOC", "1": "PER"})
    with pytest.raises(CheckpointError, match=r"`id2label` in `config\.json` must name the same labels"):
        load_model(tmp_path)
    reconfigure(tmp_path, architectures=["BertModel"])
    tensors = load_file(tmp_path / "model.safetensors")
    for leaf in ("weight", "bias"):
        tensors[f"longdoc.readout.head.output.{leaf}"] = tensors.pop(f"classifier.{leaf}")
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded, loaded_settings, _ = load_model(tmp_path)
    assert loaded_settings == settings
    assert torch.equal(loaded.readout.head.output.weight, model.readout.head.output.weight)


def test_a_tensor_of_the_head_that_is_missing_has_the_name_of_the_file(
    bert: Path, tmp_path: Path, tokenizer: DocumentTokenizer
) -> None:
    model, settings = finder(bert, TokensReadoutConfig())
    save_model(tmp_path, model, settings, tokenizer)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["classifier.bias"]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"Missing: classifier\.bias\."):
        load_model(tmp_path)

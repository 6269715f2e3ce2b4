"""Checkpoints that were published with code of their authors: their words and names, read without that code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from family_kit import difference, ragged, saved, their_answer, their_model
from longdoc.checkpoints import load_encoder
from longdoc.checkpoints.classifiers import holds_classifier, load_classifier
from longdoc.checkpoints.gte import GTE
from longdoc.checkpoints.jina_v3 import JINA_V3
from longdoc.checkpoints.native import save_encoder
from longdoc.errors import CheckpointError
from nn_kit import batch_of
from tokenizer_kit import toy

THETA, FACTOR, HEAD_WIDTH = 500000.0, 2.0, 12


def gte_of_transformers(kind: str = "encoder") -> Any:
    """What `new` with `ntk` comes to: inverse frequency i is 1 / (s theta)^(2i/d) / s^(2/d)."""
    linear = {"rope_type": "linear", "rope_theta": THETA * FACTOR, "factor": FACTOR ** (2 / HEAD_WIDTH)}
    return their_model("gte", kind, rope_parameters=linear, type_vocab_size=0, pad_token_id=0)


def as_new(folder: Path, **changes: Any) -> Path:
    """The folder as the authors of GTE 1.5 saved theirs."""
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"]
    said = {
        "model_type": "new",
        "architectures": [name.replace("Gte", "New") for name in config["architectures"]],
        "auto_map": {"AutoModel": "modeling.NewModel"},
        "position_embedding_type": "rope",
        "layer_norm_type": "layer_norm",
        "rope_theta": THETA,
        "rope_scaling": {"type": "ntk", "factor": FACTOR},
        "pack_qkv": True,
        "unpad_inputs": False,
        "logn_attention_scale": False,
        "logn_attention_clip1": False,
    }
    (folder / "config.json").write_text(json.dumps(config | said | changes))
    tensors = load_file(folder / "model.safetensors")
    renamed = {name if name.startswith("classifier.") else f"new.{_bare(name)}": t for name, t in tensors.items()}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _bare(name: str) -> str:
    return name.removeprefix("gte.").removeprefix("new.")


def test_frequencies_of_ntk_are_those_of_the_formula() -> None:
    for theta, factor, head_width in ((500000.0, 2.0, 64), (20000.0, 8.0, 64), (10000.0, 4.0, 12)):
        config = {
            "model_type": "new",
            "hidden_size": 4 * head_width,
            "num_attention_heads": 4,
            "rope_theta": theta,
            "rope_scaling": {"type": "ntk", "factor": factor},
        }
        assert GTE.translate is not None
        said = GTE.translate(config)
        assert said is not None
        position = GTE.config_from_hf(said).position
        at_one = position.scaling.factor * position.theta ** (torch.arange(0, head_width, 2).double() / head_width)
        expected = (theta * factor) ** (torch.arange(0, head_width, 2).double() / head_width)
        expected *= factor ** (2 / head_width)
        torch.testing.assert_close(1 / at_one, 1 / expected, rtol=1e-12, atol=0)


def test_gte_of_its_authors_gives_the_states_of_the_same_model_in_transformers(tmp_path: Path) -> None:
    theirs = gte_of_transformers()
    ours = load_encoder(as_new(saved(theirs, tmp_path / "theirs")))
    ids, valid = ragged()
    with torch.no_grad():
        assert difference(ours(ids, valid), their_answer(theirs, ids, valid), valid) <= 1e-5
    save_encoder(tmp_path / "ours", ours, toy())
    again = type(theirs).from_pretrained(tmp_path / "ours").eval()
    assert torch.equal(their_answer(again, ids, valid), their_answer(theirs, ids, valid))


@pytest.mark.parametrize("changes", [{"rope_scaling": None}, {"rope_theta": 10000.0}])
def test_a_wrong_reading_of_its_angles_shows(changes: dict[str, Any], tmp_path: Path) -> None:
    theirs = gte_of_transformers()
    ids, valid = ragged()
    ours = load_encoder(as_new(saved(theirs, tmp_path), **changes))
    with torch.no_grad():
        assert difference(ours(ids, valid), their_answer(theirs, ids, valid), valid) > 1e-4


def test_a_classifier_of_its_authors_answers_as_transformers(tmp_path: Path) -> None:
    theirs = gte_of_transformers("classifier")
    folder = as_new(saved(theirs, tmp_path), id2label={"0": "no", "1": "yes"}, label2id={"no": 0, "yes": 1})
    assert holds_classifier(folder)
    model, settings = load_classifier(folder)
    assert settings.labels == ("no", "yes")
    ids, valid = ragged((9, 5))
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=valid.long()).logits
        assert (model(batch_of(ids, valid)) - expected).abs().max() <= 1e-5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position_embedding_type": "absolute"}, "`position_embedding_type` must be 'rope', but is 'absolute' inst"),
        ({"layer_norm_type": "rms_norm"}, "`layer_norm_type` must be 'layer_norm', but is 'rms_norm' instead"),
        ({"logn_attention_scale": True}, "`logn_attention_scale` must be false, but is true instead"),
        ({"pack_qkv": False}, "`pack_qkv` must be true, but is false instead"),
        ({"rope_scaling": {"type": "ntk", "factor": 0.5}}, "`rope_scaling` must be of the type ntk with a `factor` of"),
        ({"rope_scaling": {"type": "ntk", "factor": 2.0, "mixed_b": 0.6}}, "`rope_scaling` must be of the type ntk"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "`rope_scaling` must be of the type ntk"),
        ({"rope_scaling": {"type": "ntk", "factor": True}}, "`rope_scaling` must be of the type ntk"),
        ({"rope_scaling": {"type": "ntk", "factor": float("inf")}}, "`rope_scaling` must be of the type ntk"),
        ({"rope_theta": "many"}, "`rope_theta` must be a number above 0, but is 'many' instead"),
        ({"num_attention_heads": 0}, "`num_attention_heads` must be a whole number from 1"),
    ],
)
def test_what_cannot_be_followed_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=message):
        load_encoder(as_new(saved(gte_of_transformers(), tmp_path), **changes))


def as_flash(folder: Path, adapters: bool) -> Path:
    """The folder as the authors of Jina embeddings 3 saved theirs, with or without adapters for tasks."""
    config = json.loads((folder / "config.json").read_text())
    theta = config.pop("rope_parameters")["rope_theta"]
    said = {
        "model_type": "xlm-roberta",
        "architectures": ["XLMRobertaModel"],
        "position_embedding_type": "rotary",
        "rotary_emb_base": theta,
        "lora_adaptations": ["retrieval.query", "classification"],
        "lora_rank": 2,
    }
    (folder / "config.json").write_text(json.dumps(config | said))
    tensors = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        full = f"roberta.{name.removeprefix('roberta.')}"
        if not (adapters and name.endswith(".weight") and tensor.ndim == 2):
            tensors[full] = tensor
            continue
        module = full.removesuffix(".weight")
        tensors[f"{module}.parametrizations.weight.original"] = tensor
        tensors[f"{module}.parametrizations.weight.0.lora_A"] = torch.ones(2, 2, tensor.shape[1])
        tensors[f"{module}.parametrizations.weight.0.lora_B"] = torch.ones(2, tensor.shape[0], 2)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("adapters", [True, False])
def test_jina_3_of_its_authors_is_its_base(adapters: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    theirs = their_model("jina_embeddings_v3")
    folder = as_flash(saved(theirs, tmp_path / "theirs"), adapters)
    with caplog.at_level("INFO"):
        ours = load_encoder(folder)
    assert ("word_embeddings.parametrizations.weight.0.lora_A" in caplog.text) == adapters, "said, not lost"
    ids, valid = ragged(pad_id=1)
    with torch.no_grad():
        assert difference(ours(ids, valid), their_answer(theirs, ids, valid), valid) <= 1e-5
    save_encoder(tmp_path / "ours", ours, toy())
    again = type(theirs).from_pretrained(tmp_path / "ours").eval()
    assert torch.equal(their_answer(again, ids, valid), their_answer(theirs, ids, valid))


def test_xlm_roberta_itself_is_not_taken_for_jina() -> None:
    assert JINA_V3.translate is not None
    assert JINA_V3.translate({"model_type": "xlm-roberta", "position_embedding_type": "absolute"}) is None
    assert JINA_V3.translate({"model_type": "jina_embeddings_v3"}) is None

"""What is particular to checkpoints saved as BERT."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from family_kit import saved, their_model
from longdoc.checkpoints import adopt_head, load_encoder, open_checkpoint
from longdoc.checkpoints.bert import BERT
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import LearnedConfig
from longdoc.nn.readout import VectorsReadoutConfig


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(their_model("bert", num_hidden_layers=1), tmp_path)


def rewrite(folder: Path, rename) -> None:
    tensors = load_file(folder / "model.safetensors")
    renamed = {rename(name): tensor for name, tensor in tensors.items()}
    save_file({name: tensor for name, tensor in renamed.items() if name}, folder / "model.safetensors")


def reconfigure(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


def same(one: Encoder, other: Encoder) -> bool:
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_names_from_tensorflow_and_of_models_with_a_head_are_read(folder: Path) -> None:
    plain = load_encoder(folder)
    tensorflow = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    rewrite(folder, lambda name: re.sub(r"LayerNorm\.\w+$", lambda found: tensorflow[found[0]], name))
    assert "embeddings.LayerNorm.gamma" in load_file(folder / "model.safetensors")
    assert same(load_encoder(folder), plain)
    rewrite(folder, lambda n: f"bert.{n}")
    assert same(load_encoder(folder), plain)


def test_tables_that_are_computed_and_heads_of_other_tasks_are_dropped(folder: Path) -> None:
    plain = load_encoder(folder)
    tensors = load_file(folder / "model.safetensors")
    extra = {
        "embeddings.position_ids": torch.arange(64)[None],
        "cls.predictions.bias": torch.zeros(60),
        "cls.predictions.transform.dense.weight": torch.zeros(48, 48),
        "cls.seq_relationship.weight": torch.zeros(2, 48),
        "qa_outputs.bias": torch.zeros(2),
    }
    save_file(tensors | extra, folder / "model.safetensors")
    assert same(load_encoder(folder), plain)


def test_one_tensor_under_two_names_is_refused(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    word = tensors["embeddings.word_embeddings.weight"]
    save_file(tensors | {"bert.embeddings.word_embeddings.weight": word + 1}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"Unexpected: .*embeddings\.word_embeddings\.weight \(a second time\)"):
        load_encoder(folder)


def test_the_pooler_is_carried_and_starts_the_head(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = open_checkpoint(folder)
    theirs = load_file(folder / "model.safetensors")
    assert torch.equal(checkpoint.encoder.carried["bert.pooler.dense.weight"], theirs["pooler.dense.weight"])
    assert "carried" not in "".join(checkpoint.encoder.state_dict())
    readout = VectorsReadoutConfig.model_validate({"pooling": "cls", "head": {"kind": "bert_pooler"}}).build(48, 2)
    with caplog.at_level("INFO", logger="longdoc"):
        untrained = adopt_head(readout, checkpoint)
    assert torch.equal(readout.head.dense.weight, theirs["pooler.dense.weight"])
    assert untrained == ("head.output.weight", "head.output.bias")
    assert caplog.messages == ["newly initialised, to be trained: head.output.weight, head.output.bias"]


def test_a_checkpoint_without_pooler_says_what_is_new(folder: Path) -> None:
    rewrite(folder, lambda n: "" if "pooler" in n else n)
    checkpoint = open_checkpoint(folder)
    assert checkpoint.encoder.carried == {}
    readout = VectorsReadoutConfig.model_validate({"head": {"kind": "bert_pooler"}}).build(48, 2)
    assert "head.dense.weight" in adopt_head(readout, checkpoint)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"position_embedding_type": "relative_key"},
            "`position_embedding_type` must be `absolute`, but is 'relative_key' instead. Checkpoints with relative "
            "positions inside BERT cannot be loaded.",
        ),
        ({"is_decoder": True}, "`is_decoder` must be false, but is true instead. Only encoders can be loaded."),
        (
            {"hidden_act": "mish"},
            "`hidden_act` must be one of gelu, gelu_python, gelu_new, gelu_pytorch_tanh, relu, silu, swish, tanh, but "
            "is 'mish' instead.",
        ),
        (
            {"num_attention_heads": 5},
            "`config.json` must describe an encoder, but does not: `configuration`: `width` must be a multiple of "
            "`heads` (5), but is 48 instead.",
        ),
        (
            {"num_hidden_layers": 10**9, "hidden_size": 10**12},
            "`config.json` must describe an encoder, but does not: `width`: Input should be less than or equal to "
            "1048576; `layers`: Input should be less than or equal to 1024.",
        ),
        (
            {"vocab_size": "many"},
            "sizes in `config.json` must be whole numbers, but `vocab_size` is 'many'. Correct `config.json`.",
        ),
    ],
)
def test_a_configuration_that_we_cannot_follow_is_refused(folder: Path, changes: dict, message: str) -> None:
    reconfigure(folder, **changes)
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


def test_shapes_that_do_not_fit_the_configuration_are_refused(folder: Path) -> None:
    reconfigure(folder, max_position_embeddings=32)
    with pytest.raises(
        CheckpointError, match=r"Of the wrong shape: embeddings\.position_embeddings\.weight \(66x48 instead of 32x48\)"
    ):
        load_encoder(folder)


@pytest.mark.parametrize(("theirs", "ours"), [("gelu_new", "gelu_tanh"), ("swish", "silu"), ("gelu", "gelu")])
def test_activations_keep_their_meaning(folder: Path, theirs: str, ours: str) -> None:
    reconfigure(folder, hidden_act=theirs)
    assert load_encoder(folder).config.activation == ours


def test_what_the_files_cannot_say_is_refused() -> None:
    config = BERT.config_from_hf({"vocab_size": 60})
    assert BERT.config_from_hf(BERT.describe(config)) == config
    changed = config.model_copy(update={"window": 64, "position": LearnedConfig(rows=9)})
    message = (
        "an encoder of the family `bert` must be one that its files can describe, but `position`, `window` cannot be "
        "said there. Set `family` to null: the encoder is then saved in the layout of longdoc, which says everything."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        BERT.describe(changed)


def test_defaults_are_those_of_transformers() -> None:
    from transformers import BertConfig

    assert BERT.config_from_hf({}) == BERT.config_from_hf(BertConfig().to_dict())
    assert EncoderConfig(token_types=2, family="bert") == BERT.config_from_hf({})

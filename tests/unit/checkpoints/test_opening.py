"""Traps in the folders that people have: shards, leftovers, heads of other tasks, models that we cannot follow."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from family_kit import reconfigure, saved, their_model
from longdoc.checkpoints import load_encoder, open_checkpoint
from longdoc.checkpoints.classifiers import holds_classifier, load_classifier
from longdoc.checkpoints.language_models import load_language_model
from longdoc.checkpoints.native import load_model, model_fingerprint, save_model
from longdoc.checkpoints.opening import FAMILIES, OWN
from longdoc.checkpoints.taggers import holds_tagger, load_tagger
from longdoc.errors import CheckpointError
from longdoc.nn import Encoder
from longdoc.text.tokenizing import DocumentTokenizer
from tokenizer_kit import toy


def same(one: Encoder, other: Encoder) -> bool:
    return all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def add(folder: Path, **extra: torch.Tensor) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | extra, folder / "model.safetensors", metadata={"format": "pt"})


def test_what_is_left_aside_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = saved(their_model("xlm-roberta", num_hidden_layers=1), tmp_path)
    plain = load_encoder(folder)
    add(
        folder,
        **{
            "roberta.embeddings.position_ids": torch.arange(66)[None],
            "lm_head.dense.weight": torch.zeros(48, 48),
            "lm_head.decoder.weight": load_file(folder / "model.safetensors")[
                "embeddings.word_embeddings.weight"
            ].clone(),
        },
    )
    with caplog.at_level("INFO", logger="longdoc"):
        assert same(load_encoder(folder), plain)
    assert caplog.messages == [
        f"left aside in {folder}, since the encoder does not use them: lm_head.decoder.weight, lm_head.dense.weight, "
        "roberta.embeddings.position_ids"
    ]


def test_shards_are_one_checkpoint(tmp_path: Path) -> None:
    theirs = their_model("modernbert", "classifier", num_labels=2)
    whole, shards = saved(theirs, tmp_path / "whole"), tmp_path / "shards"
    theirs.save_pretrained(shards, max_shard_size="20KB")
    assert len(list(shards.glob("*.safetensors"))) > 3
    assert not (shards / "model.safetensors").exists()
    assert same(load_classifier(shards)[0].encoder, load_classifier(whole)[0].encoder)
    before = model_fingerprint(shards)
    one = sorted(shards.glob("*.safetensors"))[-1]
    tensors = load_file(one)
    name = next(iter(tensors))
    save_file(tensors | {name: tensors[name] + 1}, one, metadata={"format": "pt"})
    assert model_fingerprint(shards) != before, "every shard decides predictions"
    one.unlink()
    with pytest.raises(CheckpointError, match=rf"names {re.escape(one.name)}, which must be in its folder but are not"):
        load_encoder(shards)


def test_a_family_that_nobody_knows_is_told_the_ones_that_we_do(tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    reconfigure(folder, model_type="t5")
    message = (
        f"`model_type` in `{folder / 'config.json'}` must be one of {', '.join([*FAMILIES, OWN])}, but is 't5' "
        "instead. Choose a checkpoint of one of these families."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        open_checkpoint(folder)


def test_a_part_of_a_fused_tensor_is_named_with_the_whole(tmp_path: Path) -> None:
    folder = saved(their_model("modernbert", num_hidden_layers=1), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    tensors["layers.0.attn.Wqkv.weight"] = torch.zeros(3 * 48, 47)
    del tensors["layers.0.mlp.Wi.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError) as caught:
        load_encoder(folder)
    for said in (
        "model.layers.0.mlp.Wi.weight (layers.0.feed_forward.gate.weight)",
        "model.layers.0.mlp.Wi.weight (layers.0.feed_forward.inner.weight)",
        "layers.0.attn.Wqkv.weight (layers.0.attention.query.weight) (48x47 instead of 48x48)",
    ):
        assert said in str(caught.value)


SIZES: list[tuple[dict[str, Any], str]] = [
    ({"hidden_size": "48"}, "`hidden_size` is '48'"),
    ({"num_hidden_layers": 1.0, "vocab_size": True}, "`num_hidden_layers` is 1.0, `vocab_size` is true"),
    ({"pad_token_id": [0]}, "`pad_token_id` is [0]"),
    ({"n_heads": "4"}, "`n_heads` is '4'"),
]


@pytest.mark.parametrize(("changes", "said"), SIZES)
def test_sizes_are_whole_numbers(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    reconfigure(folder, **changes)
    message = f"sizes in `config.json` must be whole numbers, but {said}. Correct `config.json`."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


@pytest.mark.parametrize(("key", "ours"), [("layer_norm_eps", "norm_eps"), ("hidden_dropout_prob", "dropout")])
def test_other_numbers_are_numbers_too(key: str, ours: str, tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    reconfigure(folder, **{key: "0.1"})
    message = f"`config.json` must describe an encoder, but does not: `{ours}`: Input should be a valid number."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    reconfigure(folder, quantization_config={"load_in_8bit": True, "quant_method": "bitsandbytes"})
    message = (
        f"`quantization_config` in `{folder / 'config.json'}` must not be there, but is: quantised weights are not "
        "read. Take the checkpoint in full precision, or save it so with transformers (`dequantize`)."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        load_encoder(folder)


def test_weights_of_eight_bits_are_told_from_others(tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    name = "encoder.layer.0.output.dense.weight"
    save_file(tensors | {name: tensors[name].to(torch.float8_e4m3fn)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=rf"Of 8 bits, which are .* scales: {re.escape(name)}\. Check that"):
        load_encoder(folder)


@pytest.mark.parametrize("named", [{"a": 3, "b": "x"}, {"a": ["x"]}, {"a": "../x"}, {}, ["x"], None])
def test_an_index_must_name_files_of_its_folder(named: object, tmp_path: Path) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": named}))
    with pytest.raises(CheckpointError, match=r"^`weight_map` of .* must name files of its own folder, but does"):
        load_encoder(folder)


def test_a_tokenizer_without_words_is_refused(tmp_path: Path) -> None:
    state = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None}
    state |= {"pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None}
    state |= {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    with pytest.raises(CheckpointError, match=r"^`tokenizer\.json` must be able to encode every text, but fails "):
        DocumentTokenizer.from_folder(tmp_path)


def test_code_of_a_folder_is_spoken_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = saved(their_model("bert", num_hidden_layers=1), tmp_path)
    reconfigure(folder, auto_map={"AutoModel": "modeling.Model"})
    with caplog.at_level("WARNING", logger="longdoc"):
        load_encoder(folder)
        load_encoder(folder)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "must be a model folder, but holds neither `longdoc.json` nor `config.json`. Name the"),
        ({"model_type": "t5"}, "must be one of bert, roberta, "),
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "names BertForMaskedLM: an encoder without"),
        ({"model_type": "bert"}, "names none: an encoder without a head that does. Train one on it first: `"),
        ({"model_type": "bert", "longdoc_settings": True}, "must be a model folder, but lacks its `longdoc.json`: "),
    ],
)
def test_a_folder_that_is_no_model_says_what_it_is_and_the_way_on(
    config: dict[str, Any] | None, said: str, tmp_path: Path
) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError) as caught:
        load_model(tmp_path)
    assert said in str(caught.value)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("deberta-v2", {"relative_attention": False}, "`relative_attention` must be true, but is false instead. Such"),
    ("deberta-v2", {"share_att_key": False}, "`share_att_key` must be true, but is false instead. Such"),
    ("deberta-v2", {"norm_rel_ebd": "none"}, "`norm_rel_ebd` must be 'layer_norm', but is 'none' instead. Such"),
    ("deberta-v2", {"position_biased_input": True}, "`position_biased_input` must be false, but is true instead."),
    (
        "deberta-v2",
        {"conv_kernel_size": 3},
        "`conv_kernel_size` must be 0, but is 3 instead. Checkpoints with a convol",
    ),
    ("deberta-v2", {"pos_att_type": "c2p"}, "`pos_att_type` must be c2p and p2c, but is ['c2p'] instead. Such"),
    ("deberta-v2", {"position_buckets": -1}, "`position_buckets` must be at least 1, but is -1 instead. Such"),
    ("deberta-v2", {"embedding_size": 32}, "`embedding_size` must be 48, but is 32 instead. Such"),
    ("electra", {"is_decoder": True}, "`is_decoder` must be false, but is true instead. Only encoders can be loaded."),
    (
        "mpnet",
        {"relative_attention_num_buckets": 16},
        "`relative_attention_num_buckets` must be 32, but is 16 instead.",
    ),
    (
        "longformer",
        {"attention_window": [4, 8]},
        "`attention_window` must be one even number, or one for each of the 4",
    ),
    ("longformer", {"attention_window": 5}, "`attention_window` must be one even number, or one for each of the 4"),
    (
        "modernbert",
        {"layer_types": ["full_attention"]},
        "`layer_types` must name 4 layers, each full_attention or sliding",
    ),
    ("distilbert", {"activation": "mish"}, "`activation` must be one of gelu, gelu_python, gelu_new, "),
    (
        "eurobert",
        {"num_key_value_heads": 3},
        "`config.json` must describe an encoder, but does not: `configuration`: `he",
    ),
    ("nomic_bert", {"prenorm": True}, "`prenorm` must be false, but is true instead. Only encoders built as"),
    ("gte", {"hidden_act": ["gelu"]}, "`hidden_act` must be one of gelu, gelu_python, gelu_new, "),
]


@pytest.mark.parametrize(("family", "changes", "message"), REFUSED)
def test_what_a_family_may_be_and_we_are_not_is_refused(
    family: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = saved(their_model(family), tmp_path)
    reconfigure(folder, **changes)
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}"):
        load_encoder(folder)


def test_nomic_by_the_keys_of_its_authors_is_the_same(tmp_path: Path) -> None:
    folder = saved(their_model("nomic_bert"), tmp_path)
    new = load_encoder(folder)
    config = json.loads((folder / "config.json").read_text())
    old = {
        "n_embd": config["hidden_size"],
        "n_layer": config["num_hidden_layers"],
        "n_head": config["num_attention_heads"],
        "n_inner": config["intermediate_size"],
        "n_positions": config["max_position_embeddings"],
        "layer_norm_epsilon": config["layer_norm_eps"],
        "rotary_emb_base": config["rope_parameters"]["rope_theta"],
        "resid_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "activation_function": "swiglu",
        "rotary_emb_fraction": 1.0,
    }
    kept = {key: config[key] for key in ("model_type", "vocab_size", "pad_token_id", "type_vocab_size")}
    (folder / "config.json").write_text(json.dumps(kept | old))
    again = load_encoder(folder)
    assert again.config == new.config
    assert same(again, new)


@pytest.mark.parametrize("family", ["modernbert", "eurobert"])
def test_a_pooling_that_nobody_knows_is_refused(family: str, tmp_path: Path) -> None:
    folder = saved(their_model(family, "classifier"), tmp_path)
    reconfigure(folder, classifier_pooling="median")
    with pytest.raises(CheckpointError, match=r"^`classifier_pooling` must be .* but is 'median' instead\.$"):
        load_classifier(folder)


def test_an_untied_language_model_keeps_its_last_layer(tmp_path: Path) -> None:
    theirs = their_model("bert", "language model", tie_word_embeddings=False)
    encoder, head = load_language_model(saved(theirs, tmp_path))
    assert torch.equal(head.output.weight, theirs.cls.predictions.decoder.weight)
    assert head.output.weight is not encoder.word.weight


@pytest.mark.parametrize(
    ("load", "wanted"), [(load_tagger, "a token classification"), (load_language_model, "a masked-language")]
)
def test_a_head_of_another_task_is_not_taken_for_the_one_asked_for(load: Any, wanted: str, tmp_path: Path) -> None:
    folder = saved(their_model("bert", "classifier", num_hidden_layers=1), tmp_path)
    message = (
        f"`architectures` in `{folder / 'config.json'}` must name {wanted} model, but "
        "['BertForSequenceClassification'] does not."
    )
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}"):
        load(folder)


def test_a_tagger_is_no_classifier_and_lends_nobody_its_head(tmp_path: Path) -> None:
    folder = saved(their_model("bert", "tagger", num_hidden_layers=1, num_labels=2), tmp_path)
    assert not holds_classifier(folder)
    assert holds_tagger(folder)
    toy().save(folder)
    assert load_model(folder)[1].task == "spans"
    with pytest.raises(CheckpointError, match="must name a sequence classification model"):
        load_classifier(folder)


def test_a_head_that_lacks_tensors_names_them_all(tmp_path: Path) -> None:
    folder = saved(their_model("bert", "tagger", num_hidden_layers=1), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    del tensors["classifier.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"Missing: classifier\.weight\."):
        load_tagger(folder)


def test_a_model_folder_that_was_cut_short_is_not_taken_for_a_public_classifier(tmp_path: Path) -> None:
    folder = saved(their_model("bert", "classifier", num_hidden_layers=1), tmp_path / "theirs")
    assert holds_classifier(folder)
    save_model(tmp_path / "ours", *load_classifier(folder), toy())
    (tmp_path / "ours" / "longdoc.json").unlink()
    assert json.loads((tmp_path / "ours" / "config.json").read_text())["architectures"] == [
        "BertForSequenceClassification"
    ]
    with pytest.raises(CheckpointError, match=r"must be a model folder, but lacks its `longdoc\.json`: it was"):
        load_model(tmp_path / "ours")


def test_a_folder_of_an_older_version_with_another_pooling_still_opens(tmp_path: Path) -> None:
    """0.1 kept BERT's head under BERT's names whatever the pooling; now only where transformers would agree."""
    folder = saved(their_model("bert", "classifier", num_hidden_layers=1), tmp_path / "theirs")
    model, settings = load_classifier(folder)
    save_model(tmp_path / "ours", model, settings, toy())
    described = json.loads((tmp_path / "ours" / "longdoc.json").read_text())
    described["readout"]["pooling"] = "mean"
    (tmp_path / "ours" / "longdoc.json").write_text(json.dumps(described))
    again, changed, _ = load_model(tmp_path / "ours")
    assert changed.readout.pooling == "mean"
    assert torch.equal(again.readout.head.dense.weight, model.readout.head.dense.weight)
    shutil.rmtree(folder)
    save_model(tmp_path / "again", again, changed, toy())
    tensors = load_file(tmp_path / "again" / "model.safetensors")
    assert "longdoc.readout.head.dense.weight" in tensors
    assert json.loads((tmp_path / "again" / "config.json").read_text())["architectures"] == ["BertModel"]
    assert torch.equal(load_model(tmp_path / "again")[0].readout.head.dense.weight, again.readout.head.dense.weight)


@pytest.mark.parametrize(("limit", "size"), [(10**30, 66), (40, 40), (512, 66), (None, 66), ("many", 66)])
def test_chunks_are_as_long_as_tokenizer_and_encoder_allow(limit: object, size: int, tmp_path: Path) -> None:
    folder = saved(their_model("bert", "classifier", num_hidden_layers=1), tmp_path)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
    assert load_classifier(folder)[1].chunking.size == size

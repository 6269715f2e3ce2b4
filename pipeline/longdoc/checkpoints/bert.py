"""BERT and everything saved under its name: MiniLM, Legal-BERT, BioClinicalBERT, PubMedBERT ... (arXiv 1810.04805)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.family import ACTIVATION_FROM_HF, ACTIVATION_TO_HF, Family, encoder_config
from longdoc.checkpoints.keymap import KeyMap
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig

__all__ = ["BERT"]

_LAYER = "bert.encoder.layer.{}"
_KEYS = KeyMap(
    [
        ("bert.embeddings.word_embeddings", "word"),
        ("bert.embeddings.position_embeddings", "position"),
        ("bert.embeddings.token_type_embeddings", "token_type"),
        ("bert.embeddings.LayerNorm", "embedding_norm"),
        (f"{_LAYER}.attention.self.query", "layers.{}.attention.query"),
        (f"{_LAYER}.attention.self.key", "layers.{}.attention.key"),
        (f"{_LAYER}.attention.self.value", "layers.{}.attention.value"),
        (f"{_LAYER}.attention.output.dense", "layers.{}.attention.output"),
        (f"{_LAYER}.attention.output.LayerNorm", "layers.{}.attention_norm"),
        (f"{_LAYER}.intermediate.dense", "layers.{}.feed_forward.inner"),
        (f"{_LAYER}.output.dense", "layers.{}.feed_forward.output"),
        (f"{_LAYER}.output.LayerNorm", "layers.{}.feed_forward_norm"),
    ]
)
_HEAD_KEYS = KeyMap([("bert.pooler.dense", "head.dense"), ("classifier", "head.output")])


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    """Keys that a file leaves out have the defaults of transformers' `BertConfig`."""
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"`position_embedding_type` must be `absolute`, but is {config['position_embedding_type']!r} instead. "
            "Checkpoints with relative positions inside BERT cannot be loaded."
        )
    if config.get("is_decoder") or config.get("add_cross_attention"):
        raise CheckpointError("`is_decoder` must be false, but is true instead. Only encoders can be loaded.")
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATION_FROM_HF:
        raise CheckpointError(
            f"`hidden_act` must be one of {', '.join(ACTIVATION_FROM_HF)}, but is {activation!r} instead."
        )
    return encoder_config(
        vocab_size=config.get("vocab_size", 30522),
        width=config.get("hidden_size", 768),
        layers=config.get("num_hidden_layers", 12),
        heads=config.get("num_attention_heads", 12),
        feed_forward_width=config.get("intermediate_size", 3072),
        activation=ACTIVATION_FROM_HF[activation],
        norm_eps=config.get("layer_norm_eps", 1e-12),
        dropout=config.get("hidden_dropout_prob", 0.1),
        attention_dropout=config.get("attention_probs_dropout_prob", 0.1),
        token_types=config.get("type_vocab_size", 2),
        max_len=config.get("max_position_embeddings", 512),
        pad_id=config.get("pad_token_id") or 0,
        family="bert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.feed_forward_width,
        "hidden_act": ACTIVATION_TO_HF[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "max_position_embeddings": config.max_len,
        "type_vocab_size": config.token_types,
        "layer_norm_eps": config.norm_eps,
        "pad_token_id": config.pad_id,
        "position_embedding_type": "absolute",
    }


def _fix_name(name: str) -> str:
    """Checkpoints converted from TensorFlow call a norm's tensors gamma and beta; encoders saved alone lack `bert.`."""
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    return f"bert.{name}" if name.startswith(("embeddings.", "encoder.", "pooler.")) else name


BERT = Family(
    model_type="bert",
    base_class="BertModel",
    classifier_class="BertForSequenceClassification",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=_KEYS,
    head_kind="bert_pooler",
    head_keys=_HEAD_KEYS,
    fix_name=_fix_name,
    ignored=(
        "bert.embeddings.position_ids",
        "bert.embeddings.token_type_ids",
        "cls.predictions.",
        "cls.seq_relationship.",
        "qa_outputs.",
    ),
    carried=("bert.pooler.",),
)

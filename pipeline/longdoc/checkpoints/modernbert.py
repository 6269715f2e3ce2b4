"""ModernBERT (Warner et al. 2024, arXiv 2412.13663): rotary, most layers look through a window, norms first, no biases.

Queries, keys and values are one tensor, and so are the two halves of the gated feed-forward part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, TaggerFormat, head_dropout
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.reading import (
    ACTIVATION_TO_HF,
    DEEPEST,
    activation_of,
    choice,
    encoder_config,
    whole,
)
from longdoc.checkpoints.rope import FULL, SLIDING, layer_types_of, typed_rope_from_hf, typed_rope_to_hf
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind

__all__ = ["MODERNBERT"]

_THETA = {FULL: 160000.0, SLIDING: 10000.0}
_OLD_THETA = {FULL: "global_rope_theta", SLIDING: "local_rope_theta"}
_POOLINGS: dict[str, PoolingKind] = {"cls": "cls", "mean": "mean_with_specials"}


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    layers = whole(config, "num_hidden_layers", 22, 1, DEEPEST)
    every = whole(config, "global_attn_every_n_layers", 3)
    types = layer_types_of(config, [SLIDING if number % every else FULL for number in range(layers)])
    max_len = whole(config, "max_position_embeddings", 8192)
    radius = whole(config, "local_attention", 128) // 2
    return encoder_config(
        vocab_size=choice(config, "vocab_size", 50368),
        width=choice(config, "hidden_size", 768),
        layers=layers,
        heads=choice(config, "num_attention_heads", 12),
        feed_forward_width=choice(config, "intermediate_size", 1152),
        feed_forward="gated",
        activation=activation_of(config, "hidden_activation"),
        norm="pre",
        first_norm=False,
        norm_eps=choice(config, "norm_eps", 1e-5),
        attention_bias=choice(config, "attention_bias", False),
        feed_forward_bias=choice(config, "mlp_bias", False),
        feed_forward_output_bias=choice(config, "mlp_bias", False),
        norm_bias=choice(config, "norm_bias", False),
        dropout=choice(config, "mlp_dropout", 0.0),
        attention_dropout=choice(config, "attention_dropout", 0.0),
        position=typed_rope_from_hf(config, types, max_len, _THETA, _OLD_THETA),
        window=tuple(radius if kind == SLIDING else None for kind in types),
        max_len=max_len,
        pad_id=choice(config, "pad_token_id", 50283),
        family="modernbert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    windows = [config.window_of(number) for number in range(config.layers)]
    types = [FULL if window is None else SLIDING for window in windows]
    return {
        "model_type": "modernbert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "intermediate_size": config.feed_forward_width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "hidden_activation": ACTIVATION_TO_HF[config.activation],
        "max_position_embeddings": config.max_len,
        "norm_eps": config.norm_eps,
        "norm_bias": config.norm_bias,
        "attention_bias": config.attention_bias,
        "mlp_bias": config.feed_forward_bias,
        "attention_dropout": config.attention_dropout,
        "mlp_dropout": config.dropout,
        "embedding_dropout": config.dropout,
        "layer_types": types,
        "local_attention": 2 * next((window for window in windows if window is not None), 64),
        "rope_parameters": typed_rope_to_hf(config.position, types, _THETA),
        "pad_token_id": config.pad_id,
    }


def _head(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "dense",
        "activation": activation_of(config, "classifier_activation"),
        "dropout": head_dropout(config, "classifier_dropout", default=0.0),
        "bias": choice(config, "classifier_bias", False),
        "norm": choice(config, "norm_eps", 1e-5),
        "norm_bias": choice(config, "norm_bias", False),
    }


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    pooling = choice(config, "classifier_pooling", "cls")
    if not isinstance(pooling, str) or pooling not in _POOLINGS:
        raise CheckpointError(f"`classifier_pooling` must be cls or mean, but is {pooling!r} instead.")
    return _POOLINGS[pooling], _head(config)


def _readout_to_hf(pooling: str, head: Any) -> dict[str, Any]:
    return {"classifier_pooling": "mean" if pooling == "mean_with_specials" else "cls", **_head_to_hf(head)}


def _head_to_hf(head: Any) -> dict[str, Any]:
    return {
        "classifier_activation": ACTIVATION_TO_HF[getattr(head, "activation", "gelu")],
        "classifier_bias": getattr(head, "bias", False),
        "classifier_dropout": head.dropout,
    }


def _language_model(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "activation": activation_of(config, "classifier_activation"),
        "norm_eps": choice(config, "norm_eps", 1e-5),
        "bias": choice(config, "classifier_bias", False),
        "norm_bias": choice(config, "norm_bias", False),
        "output_bias": choice(config, "decoder_bias", True),
    }


def _fix_name(name: str) -> str:
    return f"model.{name}" if name.startswith(("embeddings.", "layers.", "final_norm.")) else name


_HEAD_NAMES = [("head.dense", "dense"), ("head.norm", "norm")]

MODERNBERT = Family(
    model_type="modernbert",
    base_class="ModernBertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            ("model.embeddings.tok_embeddings", "word"),
            ("model.embeddings.norm", "embedding_norm"),
            ("model.layers.{}.attn_norm", "layers.{}.attention_norm"),
            ("model.layers.{}.attn.Wo", "layers.{}.attention.output"),
            ("model.layers.{}.mlp_norm", "layers.{}.feed_forward_norm"),
            ("model.layers.{}.mlp.Wo", "layers.{}.feed_forward.output"),
            ("model.final_norm", "final_norm"),
        ]
    ),
    fusions=(
        Fusion("model.layers.{}.attn.Wqkv", QUERY_KEY_VALUE),
        Fusion("model.layers.{}.mlp.Wi", ("layers.{}.feed_forward.gate", "layers.{}.feed_forward.inner")),
    ),
    classifier=ClassifierFormat(
        architecture="ModernBertForSequenceClassification",
        keys=KeyMap([*((theirs, f"head.{ours}") for theirs, ours in _HEAD_NAMES), ("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=_readout_to_hf,
    ),
    tagger=TaggerFormat(
        architecture="ModernBertForTokenClassification",
        keys=KeyMap([*_HEAD_NAMES, ("classifier", "output")]),
        from_hf=_head,
        to_hf=_head_to_hf,
    ),
    answerer=TaggerFormat(
        architecture="ModernBertForQuestionAnswering",
        keys=KeyMap([*_HEAD_NAMES, ("classifier", "output")]),
        from_hf=_head,
        to_hf=_head_to_hf,
    ),
    language_model=LanguageModelFormat(
        architecture="ModernBertForMaskedLM",
        keys=KeyMap([*_HEAD_NAMES, ("decoder", "output")]),
        from_hf=_language_model,
        to_hf=lambda head: {
            "classifier_activation": ACTIVATION_TO_HF[head.activation],
            "classifier_bias": head.bias,
            "decoder_bias": head.output_bias,
        },
    ),
    fix_name=_fix_name,
    ignored=("head.", "decoder.", "classifier."),
)

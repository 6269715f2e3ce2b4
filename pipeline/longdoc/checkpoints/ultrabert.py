"""UltraBERT: the layers of Llama with windows in two of three, each kind of layer with a rotary base of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, head_dropout, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.llama_layout import llama_keys
from longdoc.checkpoints.reading import (
    ACTIVATION_TO_HF,
    DEEPEST,
    activation_of,
    choice,
    encoder_config,
    head_width_of,
    whole,
)
from longdoc.checkpoints.rope import FULL, SLIDING, layer_types_of, typed_rope_from_hf, typed_rope_to_hf
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind

__all__ = ["ULTRABERT"]

_THETA = {FULL: 2560000.0, SLIDING: 10000.0}
_POOLINGS: dict[str, PoolingKind] = {"cls": "cls", "mean": "mean_with_specials"}


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    layers = whole(config, "num_hidden_layers", 32, 1, DEEPEST)
    types = layer_types_of(config, [SLIDING if (number + 1) % 3 else FULL for number in range(layers)])
    width, heads = choice(config, "hidden_size", 4096), choice(config, "num_attention_heads", 32)
    shared = config.get("num_key_value_heads")
    max_len = whole(config, "max_position_embeddings", 32768)
    radius = whole(config, "sliding_window", 128)
    return encoder_config(
        vocab_size=choice(config, "vocab_size", 32000),
        width=width,
        layers=layers,
        heads=heads,
        head_width=head_width_of(config, width, heads),
        key_value_heads=None if shared == heads else shared,
        feed_forward_width=choice(config, "intermediate_size", 11008),
        feed_forward="gated",
        activation=activation_of(config, default="silu"),
        norm="pre",
        norm_kind="rms",
        norm_eps=choice(config, "rms_norm_eps", 1e-6),
        embedding_norm=False,
        attention_bias=choice(config, "attention_bias", False),
        feed_forward_bias=choice(config, "mlp_bias", False),
        feed_forward_output_bias=choice(config, "mlp_bias", False),
        dropout=0.0,
        attention_dropout=choice(config, "attention_dropout", 0.0),
        position=typed_rope_from_hf(config, types, max_len, _THETA, {}),
        window=tuple(radius if kind == SLIDING else None for kind in types),
        max_len=max_len,
        pad_id=choice(config, "pad_token_id", 0),
        family="ultrabert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    windows = [config.window_of(number) for number in range(config.layers)]
    types = [FULL if window is None else SLIDING for window in windows]
    return {
        "model_type": "ultrabert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_value_heads or config.heads,
        "head_dim": config.geometry.head_width,
        "intermediate_size": config.feed_forward_width,
        "hidden_act": ACTIVATION_TO_HF[config.activation],
        "rms_norm_eps": config.norm_eps,
        "attention_bias": config.attention_bias,
        "mlp_bias": config.feed_forward_bias,
        "attention_dropout": config.attention_dropout,
        "max_position_embeddings": config.max_len,
        "layer_types": types,
        "sliding_window": next((window for window in windows if window is not None), 128),
        "rope_parameters": typed_rope_to_hf(config.position, types, _THETA),
        "pad_token_id": config.pad_id,
    }


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    named = choice(config, "classifier_pooling", "cls")
    if not isinstance(named, str) or named not in _POOLINGS:
        raise CheckpointError(f"`classifier_pooling` must be cls or mean, but is {named!r} instead.")
    dropout = head_dropout(config, "classifier_dropout", default=0.0)
    return _POOLINGS[named], {"kind": "linear", "dropout": dropout}


def _readout_to_hf(pooling: str, head: Any) -> dict[str, Any]:
    return {
        "classifier_pooling": "mean" if pooling == "mean_with_specials" else "cls",
        "classifier_dropout": head.dropout,
    }


def _fix_name(name: str) -> str:
    name = name.removeprefix("model.")
    return f"ultrabert.{name}" if name.startswith(("embed_tokens.", "layers.", "norm.")) else name


ULTRABERT = Family(
    model_type="ultrabert",
    base_class="UltrabertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=llama_keys("ultrabert"),
    classifier=ClassifierFormat(
        architecture="UltrabertForSequenceClassification",
        keys=KeyMap([("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=_readout_to_hf,
    ),
    tagger=plain_tagger("UltrabertForTokenClassification", "classifier_dropout", default=0.0),
    language_model=LanguageModelFormat(
        architecture="UltrabertForMaskedLM",
        keys=KeyMap([("head.linear1", "first"), ("head.linear2", "second"), ("cls", "output")]),
        from_hf=lambda config: {"kind": "deep", "inner": choice(config, "prediction_head_size", 768)},
        to_hf=lambda head: {"prediction_head_size": head.inner},
        tied=lambda config: bool(choice(config, "tie_word_embeddings", False)),
    ),
    fix_name=_fix_name,
    ignored=("head.", "cls.", "classifier."),
)

"""NeoBERT (Le Breton et al. 2025, arXiv 2502.19587): rotary positions in neighbouring pairs, RMSNorm first, SwiGLU.

Their files bring code of their own, which is not run. Queries, keys and values are one tensor, head by head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, head_dropout
from longdoc.checkpoints.keymap import QUERY_KEY_VALUE, Fusion, KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.reading import choice, encoder_config, whole
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind

__all__ = ["NEOBERT"]

_LAYER = "model.transformer_encoder.{}"


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    inner = int(2 * whole(config, "intermediate_size", 3072) / 3)
    return encoder_config(
        vocab_size=choice(config, "vocab_size", 30522),
        width=choice(config, "hidden_size", 768),
        layers=choice(config, "num_hidden_layers", 28),
        heads=choice(config, "num_attention_heads", 12),
        feed_forward_width=8 * ((inner + 7) // 8),  # two thirds, rounded up to a multiple of 8
        feed_forward="gated",
        activation="silu",
        norm="pre",
        norm_kind="rms",
        norm_eps=choice(config, "norm_eps", 1e-6),
        embedding_norm=False,
        bias=False,
        dropout=0.0,
        attention_dropout=0.0,
        position={"kind": "rotary", "layout": "interleaved", "theta": 10000.0},
        max_len=choice(config, "max_length", 1024),
        pad_id=choice(config, "pad_token_id", 0),
        family="neobert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "neobert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "dim_head": config.geometry.head_width,
        "intermediate_size": 3 * config.feed_forward_width // 2,
        "norm_eps": config.norm_eps,
        "max_length": config.max_len,
        "pad_token_id": config.pad_id,
    }


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    dropout = head_dropout(config, "classifier_dropout")
    return "cls", {"kind": "dense", "activation": "tanh", "dropout": dropout, "row_dropout": dropout}


def _fix_name(name: str) -> str:
    return f"model.{name}" if name.startswith(("encoder.", "transformer_encoder.", "layer_norm.")) else name


NEOBERT = Family(
    model_type="neobert",
    base_class="NeoBERT",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=KeyMap(
        [
            ("model.encoder", "word"),
            (f"{_LAYER}.wo", "layers.{}.attention.output"),
            (f"{_LAYER}.attention_norm", "layers.{}.attention_norm"),
            (f"{_LAYER}.ffn.w3", "layers.{}.feed_forward.output"),
            (f"{_LAYER}.ffn_norm", "layers.{}.feed_forward_norm"),
            ("model.layer_norm", "final_norm"),
        ]
    ),
    fusions=(
        Fusion(f"{_LAYER}.qkv", QUERY_KEY_VALUE, by_head=True),
        Fusion(f"{_LAYER}.ffn.w12", ("layers.{}.feed_forward.gate", "layers.{}.feed_forward.inner")),
    ),
    classifier=ClassifierFormat(
        architecture="NeoBERTForSequenceClassification",
        keys=KeyMap([("dense", "head.dense"), ("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=lambda _, head: {"classifier_dropout": head.dropout},
    ),
    language_model=LanguageModelFormat(
        architecture="NeoBERTLMHead",
        keys=KeyMap([("decoder", "output")]),
        from_hf=lambda config: {"kind": "plain", "output_bias": True},
        tied=lambda config: False,
    ),
    fix_name=_fix_name,
    ignored=("model.freqs_cis", "decoder.", "dense.", "classifier."),
)

"""EuroBERT (Boizard et al. 2025, arXiv 2503.05500): the layers of Llama 3, looking both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.family import Family
from longdoc.checkpoints.heads import ClassifierFormat, plain_tagger
from longdoc.checkpoints.keymap import KeyMap
from longdoc.checkpoints.language_heads import LanguageModelFormat
from longdoc.checkpoints.llama_layout import llama_keys
from longdoc.checkpoints.reading import ACTIVATION_TO_HF, activation_of, choice, encoder_config, head_width_of, whole
from longdoc.checkpoints.rope import rope_from_hf, rope_to_hf
from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.pooling import PoolingKind

__all__ = ["EUROBERT"]


def _config_from_hf(config: Mapping[str, Any]) -> EncoderConfig:
    width, heads = choice(config, "hidden_size", 768), choice(config, "num_attention_heads", 12)
    shared = config.get("num_key_value_heads")
    max_len = whole(config, "max_position_embeddings", 8192)
    return encoder_config(
        vocab_size=choice(config, "vocab_size", 128256),
        width=width,
        layers=choice(config, "num_hidden_layers", 12),
        heads=heads,
        head_width=head_width_of(config, width, heads),
        key_value_heads=None if shared == heads else shared,
        feed_forward_width=choice(config, "intermediate_size", 3072),
        feed_forward="gated",
        activation=activation_of(config, default="silu"),
        norm="pre",
        norm_kind="rms",
        norm_eps=choice(config, "rms_norm_eps", 1e-5),
        embedding_norm=False,
        attention_bias=choice(config, "attention_bias", False),
        feed_forward_bias=choice(config, "mlp_bias", False),
        feed_forward_output_bias=choice(config, "mlp_bias", False),
        dropout=0.0,
        attention_dropout=choice(config, "attention_dropout", 0.0),
        position=rope_from_hf(config, max_len, default_theta=10000.0),
        max_len=max_len,
        pad_id=choice(config, "pad_token_id", 128001),
        family="eurobert",
    )


def _config_to_hf(config: EncoderConfig) -> dict[str, Any]:
    return {
        "model_type": "eurobert",
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
        "pad_token_id": config.pad_id,
        **rope_to_hf(config.position),
    }


# transformers' `classifier_pooling` -> our pooling, and whether the dense layer acts on each token before it.
_POOLINGS: dict[str, tuple[PoolingKind, bool]] = {
    "late": ("mean_with_specials", True),
    "mean": ("mean_with_specials", False),
    "bos": ("cls", False),
}


def _readout_from_hf(config: Mapping[str, Any]) -> tuple[PoolingKind, dict[str, Any]]:
    named = choice(config, "classifier_pooling", "late")
    if not isinstance(named, str) or named not in _POOLINGS:
        raise CheckpointError(f"`classifier_pooling` must be one of {', '.join(_POOLINGS)}, but is {named!r} instead.")
    pooling, per_token = _POOLINGS[named]
    return pooling, {"kind": "dense", "activation": "gelu", "dropout": 0.0, "per_token": per_token}


def _readout_to_hf(pooling: str, head: Any) -> dict[str, Any]:
    wanted = (pooling, getattr(head, "per_token", False))
    return {"classifier_pooling": next((name for name, said in _POOLINGS.items() if said == wanted), "late")}


EUROBERT = Family(
    model_type="eurobert",
    base_class="EuroBertModel",
    config_from_hf=_config_from_hf,
    config_to_hf=_config_to_hf,
    keys=llama_keys("model"),
    classifier=ClassifierFormat(
        architecture="EuroBertForSequenceClassification",
        keys=KeyMap([("dense", "head.dense"), ("classifier", "head.output")]),
        from_hf=_readout_from_hf,
        to_hf=_readout_to_hf,
    ),
    tagger=plain_tagger("EuroBertForTokenClassification", default=0.0),
    language_model=LanguageModelFormat(
        architecture="EuroBertForMaskedLM",
        keys=KeyMap([("lm_head", "output")]),
        from_hf=lambda config: {"kind": "plain", "output_bias": choice(config, "mlp_bias", False)},
        tied=lambda config: bool(choice(config, "tie_word_embeddings", False)),
    ),
    fix_name=lambda name: f"model.{name}" if name.startswith(("embed_tokens.", "layers.", "norm.")) else name,
    ignored=("model.rotary_emb.", "lm_head.", "dense.", "classifier."),
)

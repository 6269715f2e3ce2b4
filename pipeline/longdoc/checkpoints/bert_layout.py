"""What the families that descend from BERT share: names of tensors, and the keys of `config.json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from longdoc.checkpoints.reading import ACTIVATION_TO_HF, activation_of, choice
from longdoc.nn import EncoderConfig

__all__ = ["embedding_rules", "fields_from_hf", "fields_to_hf", "full_names", "layer_rules"]


def embedding_rules(prefix: str) -> list[tuple[str, str]]:
    """Names of the embeddings: words, learned positions, token types, norm."""
    return [
        (f"{prefix}.embeddings.word_embeddings", "word"),
        (f"{prefix}.embeddings.position_embeddings", "position"),
        (f"{prefix}.embeddings.token_type_embeddings", "token_type"),
        (f"{prefix}.embeddings.LayerNorm", "embedding_norm"),
    ]


def layer_rules(prefix: str, query: str = "query", key: str = "key", value: str = "value") -> list[tuple[str, str]]:
    """Names within the layers."""
    layer = f"{prefix}.encoder.layer.{{}}"
    return [
        (f"{layer}.attention.self.{query}", "layers.{}.attention.query"),
        (f"{layer}.attention.self.{key}", "layers.{}.attention.key"),
        (f"{layer}.attention.self.{value}", "layers.{}.attention.value"),
        (f"{layer}.attention.output.dense", "layers.{}.attention.output"),
        (f"{layer}.attention.output.LayerNorm", "layers.{}.attention_norm"),
        (f"{layer}.intermediate.dense", "layers.{}.feed_forward.inner"),
        (f"{layer}.output.dense", "layers.{}.feed_forward.output"),
        (f"{layer}.output.LayerNorm", "layers.{}.feed_forward_norm"),
    ]


def full_names(prefix: str, *beginnings: str) -> Callable[[str], str]:
    """A `fix_name`: what an encoder saved alone calls `embeddings...` is `{prefix}.embeddings...` beside a head.

    Norms of checkpoints that were converted from TensorFlow call their tensors gamma and beta.
    """
    starts = beginnings or ("embeddings.", "encoder.", "pooler.")

    def fix(name: str) -> str:
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        return f"{prefix}.{name}" if name.startswith(starts) else name

    return fix


def fields_from_hf(
    config: Mapping[str, Any],
    vocab_size: int = 30522,
    width: int = 768,
    layers: int = 12,
    heads: int = 12,
    feed_forward_width: int = 3072,
    norm_eps: float = 1e-12,
    max_len: int = 512,
    token_types: int = 2,
    pad_id: int = 0,
    **defaults: Any,
) -> dict[str, Any]:
    """Fields of an `EncoderConfig` under the keys that BERT gave them. The arguments are the family's defaults."""
    return {
        "vocab_size": choice(config, "vocab_size", vocab_size),
        "width": choice(config, "hidden_size", width),
        "layers": choice(config, "num_hidden_layers", layers),
        "heads": choice(config, "num_attention_heads", heads),
        "feed_forward_width": choice(config, "intermediate_size", feed_forward_width),
        "activation": activation_of(config, default=defaults.get("hidden_act", "gelu")),
        "norm_eps": choice(config, "layer_norm_eps", norm_eps),
        "dropout": choice(config, "hidden_dropout_prob", defaults.get("hidden_dropout_prob", 0.1)),
        "attention_dropout": choice(
            config, "attention_probs_dropout_prob", defaults.get("attention_probs_dropout_prob", 0.1)
        ),
        "token_types": choice(config, "type_vocab_size", token_types),
        "max_len": choice(config, "max_position_embeddings", max_len),
        "pad_id": choice(config, "pad_token_id", pad_id),
    }


def fields_to_hf(config: EncoderConfig) -> dict[str, Any]:
    """The keys that `fields_from_hf` reads."""
    return {
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
    }

"""Reading `config.json`, which comes from strangers: values by name, and errors that name what cannot be followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from longdoc.errors import CheckpointError
from longdoc.nn import EncoderConfig
from longdoc.nn.layers import Activation

__all__ = [
    "ACTIVATION_TO_HF",
    "DEEPEST",
    "activation_of",
    "check_sizes",
    "choice",
    "encoder_config",
    "head_width_of",
    "mapping",
    "refuse_decoders",
    "require",
    "share",
    "whole",
]

_ACTIVATION_FROM_HF: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}

_MOST = 1 << 31

DEEPEST = 1 << 10
"""Layers that an encoder may have at most."""

ACTIVATION_TO_HF: dict[Activation, str] = {
    "gelu": "gelu",
    "gelu_tanh": "gelu_pytorch_tanh",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
}
"""Our names of activations -> transformers'."""


def choice(config: Mapping[str, Any], name: str, default: Any) -> Any:
    """The value of a key; null counts as not given."""
    value = config.get(name)
    return default if value is None else value


def whole(config: Mapping[str, Any], name: str, default: int, lowest: int = 1, highest: int = _MOST) -> int:
    """A whole number that we calculate with before the configuration as a whole is checked.

    Raises:
        CheckpointError: it is none, or out of bounds.
    """
    value = choice(config, name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise CheckpointError(
            f"`{name}` must be a whole number from {lowest} to {highest}, but is {_said(value)} instead."
        )
    return value


_SIZES = frozenset(
    [
        *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"),
        *("intermediate_size", "max_position_embeddings", "type_vocab_size", "pad_token_id", "embedding_size"),
        *("dim", "n_layers", "n_heads", "hidden_dim", "n_embd", "n_layer", "n_head", "n_inner", "n_positions"),
        *("max_length", "position_buckets", "max_relative_positions", "attention_head_size", "prediction_head_size"),
        *("local_attention", "sliding_window", "global_attn_every_n_layers", "relative_attention_num_buckets"),
    ]
)
"""What `config.json` counts, by all the names that families have for it."""


def check_sizes(config: Mapping[str, Any]) -> None:
    """Refuse sizes that are no whole numbers: a string of digits may mean one, and may be a damaged file.

    Raises:
        CheckpointError: names all such keys.
    """
    wrong = {name: config[name] for name in config if name in _SIZES and config[name] is not None}
    wrong = {name: value for name, value in wrong.items() if isinstance(value, bool) or not isinstance(value, int)}
    if wrong:
        said = ", ".join(f"`{name}` is {_said(value)}" for name, value in wrong.items())
        raise CheckpointError(f"sizes in `config.json` must be whole numbers, but {said}. Correct `config.json`.")


def head_width_of(config: Mapping[str, Any], width: Any, heads: Any) -> int | None:
    """What `head_dim` says; None where it is what width and heads make anyway."""
    if config.get("head_dim") is None:
        return None
    head_width = whole(config, "head_dim", 1)
    return None if isinstance(heads, int) and head_width * heads == width else head_width


def share(config: Mapping[str, Any], name: str, default: float) -> float:
    """A probability below 1, such as dropout.

    Raises:
        CheckpointError: it is none.
    """
    value = choice(config, name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise CheckpointError(f"`{name}` must be a number from 0, below 1, but is {_said(value)} instead.")
    return float(value)


def mapping(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object; null, or nothing, is an empty one.

    Raises:
        CheckpointError: it is something else.
    """
    value = choice(config, name, {})
    if not isinstance(value, Mapping):
        raise CheckpointError(f"`{name}` must be an object, but is {_said(value)} instead.")
    return dict(value)


def activation_of(config: Mapping[str, Any], name: str = "hidden_act", default: str = "gelu") -> Activation:
    """The activation that a key names.

    Raises:
        CheckpointError: one that we do not have.
    """
    named = choice(config, name, default)
    if not isinstance(named, str) or named not in _ACTIVATION_FROM_HF:
        raise CheckpointError(f"`{name}` must be one of {', '.join(_ACTIVATION_FROM_HF)}, but is {named!r} instead.")
    return _ACTIVATION_FROM_HF[named]


def require(config: Mapping[str, Any], name: str, wanted: Any, default: Any, why: str) -> None:
    """Refuse a checkpoint whose `name` is not `wanted`.

    Raises:
        CheckpointError: says what it is instead, and `why` that cannot be followed.
    """
    found = choice(config, name, default)
    if found != wanted:
        raise CheckpointError(f"`{name}` must be {_said(wanted)}, but is {_said(found)} instead. {why}")


def refuse_decoders(config: Mapping[str, Any]) -> None:
    """Refuse models that write, and old ones with positions of another kind inside BERT.

    Raises:
        CheckpointError: the message names the key.
    """
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"`position_embedding_type` must be `absolute`, but is {config['position_embedding_type']!r} instead. "
            "Checkpoints with relative positions inside BERT cannot be loaded."
        )
    if config.get("is_decoder") or config.get("add_cross_attention"):
        raise CheckpointError("`is_decoder` must be false, but is true instead. Only encoders can be loaded.")


def encoder_config(**fields: Any) -> EncoderConfig:
    """An `EncoderConfig` from what a file says.

    Raises:
        CheckpointError: names the fields whose values are impossible.
    """
    try:
        return EncoderConfig.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        faults = "; ".join(
            f"`{'.'.join(map(str, fault['loc'])) or 'configuration'}`: {_sentence(fault['msg'])}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)
        )
        raise CheckpointError(f"`config.json` must describe an encoder, but does not: {faults}.") from None


def _said(value: Any) -> str:
    said = str(value).lower() if isinstance(value, bool) else repr(value)
    return said if len(said) <= 60 else f"{said[:60]}..."


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ").removesuffix(".")

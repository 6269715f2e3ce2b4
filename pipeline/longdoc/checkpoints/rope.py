"""Rotary positions in `config.json`: `rope_parameters` of transformers 5, and the older keys, in our terms and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longdoc.checkpoints.reading import choice, mapping, whole
from longdoc.errors import CheckpointError
from longdoc.nn.position import RotaryConfig

__all__ = [
    "FULL",
    "SLIDING",
    "layer_types_of",
    "rope_from_hf",
    "rope_to_hf",
    "typed_rope_from_hf",
    "typed_rope_to_hf",
]

FULL, SLIDING = "full_attention", "sliding_attention"
"""transformers' names of layers that see everything, and of those that look through a window."""

# Ours -> theirs, for each method of stretching frequencies. What a file says beyond these changes the numbers.
_FIELDS: dict[str, dict[str, str]] = {
    "linear": {"factor": "factor"},
    "dynamic": {"factor": "factor"},
    "yarn": {
        "factor": "factor",
        "original_max_len": "original_max_position_embeddings",
        "beta_fast": "beta_fast",
        "beta_slow": "beta_slow",
        "truncate": "truncate",
        "attention_factor": "attention_factor",
    },
    "llama3": {
        "factor": "factor",
        "original_max_len": "original_max_position_embeddings",
        "low_frequency_factor": "low_freq_factor",
        "high_frequency_factor": "high_freq_factor",
    },
    "longrope": {
        "factor": "factor",
        "original_max_len": "original_max_position_embeddings",
        "short_factors": "short_factor",
        "long_factors": "long_factor",
        "attention_factor": "attention_factor",
    },
}
_NOT_SCALING = {"rope_type", "type", "rope_theta"}


def _scaling_from_hf(parameters: Mapping[str, Any], max_len: int) -> dict[str, Any] | None:
    """The fields of a scaling, None for plain frequencies.

    transformers lets two methods follow the longest row of each batch. Here their target is fixed: within
    `max_position_embeddings` the numbers are the same, and beyond it they no longer depend on the neighbours.

    Raises:
        CheckpointError: a method, or a parameter of it, that we do not have.
    """
    kind = choice(parameters, "rope_type", choice(parameters, "type", "default"))
    given = {name: value for name, value in parameters.items() if name not in _NOT_SCALING and value is not None}
    if kind == "default":
        fields: dict[str, str] = {}
    elif isinstance(kind, str) and kind in _FIELDS:
        fields = _FIELDS[kind]
    else:
        raise CheckpointError(
            f"`rope_type` must be one of default, {', '.join(_FIELDS)}, but is {kind!r} instead. Remove the scaling "
            "from `config.json`, and set one of these with `replace_scaling`."
        )
    unknown = sorted(set(given) - set(fields.values()) - {"partial_rotary_factor"})
    if given.get("partial_rotary_factor", 1.0) != 1.0:
        unknown.append("partial_rotary_factor")
    if unknown:
        raise CheckpointError(
            f"`rope_parameters` of the type {kind} must have no keys but {', '.join(fields.values()) or 'rope_theta'}, "
            f"but have {', '.join(unknown)}. What they change cannot be followed."
        )
    if kind == "default":
        return None
    scaling = {ours: given[theirs] for ours, theirs in fields.items() if theirs in given}
    if kind == "dynamic":
        scaling |= {"original_max_len": max_len, "target_len": max_len}
    if kind == "longrope":
        scaling |= {"target_len": given.get("original_max_position_embeddings", max_len)}
        scaling.setdefault("factor", max_len / whole(given, "original_max_position_embeddings", max_len))
    return {"kind": kind, **scaling}


def _scaling_to_hf(position: RotaryConfig, theta: float) -> dict[str, Any]:
    """`rope_parameters` of one theta and the scaling of `position`."""
    if position.scaling is None:
        return {"rope_type": "default", "rope_theta": theta}
    said = position.scaling.model_dump(mode="json", exclude_none=True)
    kind = said["kind"]
    parameters = {theirs: said[ours] for ours, theirs in _FIELDS[kind].items() if ours in said}
    return {"rope_type": kind, "rope_theta": theta, **parameters}


def rope_from_hf(config: Mapping[str, Any], max_len: int, default_theta: float, layout: str = "half") -> dict[str, Any]:
    """The fields of a `RotaryConfig` for a model whose layers all turn alike."""
    parameters = mapping(config, "rope_parameters") or mapping(config, "rope_scaling")
    theta = choice(parameters, "rope_theta", choice(config, "rope_theta", default_theta))
    scaling = _scaling_from_hf(parameters, max_len)
    return {"kind": "rotary", "layout": layout, "theta": theta, "scaling": scaling}


def rope_to_hf(position: Any) -> dict[str, Any]:
    """`rope_parameters` for a model whose layers all turn alike; nothing for another kind of position."""
    if not isinstance(position, RotaryConfig) or not isinstance(position.theta, int | float):
        return {}
    return {"rope_parameters": _scaling_to_hf(position, position.theta)}


def layer_types_of(config: Mapping[str, Any], default: list[str]) -> list[str]:
    """The type of each layer.

    Raises:
        CheckpointError: not as many as there are layers, or of another type.
    """
    types = choice(config, "layer_types", default)
    known = isinstance(types, list) and len(types) == len(default) and all(kind in (FULL, SLIDING) for kind in types)
    if not known:
        raise CheckpointError(
            f"`layer_types` must name {len(default)} layers, each {FULL} or {SLIDING}, but does not. Correct "
            "`config.json`."
        )
    return list(types)


def typed_rope_from_hf(
    config: Mapping[str, Any],
    types: Sequence[str],
    max_len: int,
    thetas: Mapping[str, float],
    old_thetas: Mapping[str, str],
) -> dict[str, Any]:
    """The fields of a `RotaryConfig` for a model whose layers turn by their type.

    Args:
        config, max_len: what the file says.
        types: of the layers.
        thetas: each type's default.
        old_thetas: each type's key in older files.

    Raises:
        CheckpointError: the types are stretched differently, which cannot be followed.
    """
    parameters: dict[str, dict[str, Any]] = {}
    given = mapping(config, "rope_parameters")
    for kind in dict.fromkeys(types):
        of_kind = mapping(given, kind) if kind in given else mapping(config, "rope_scaling")
        theta = choice(of_kind, "rope_theta", choice(config, old_thetas.get(kind, ""), thetas[kind]))
        parameters[kind] = {**of_kind, "rope_theta": theta}
    scalings = [_scaling_from_hf(each, max_len) for each in parameters.values()]
    if any(scaling != scalings[0] for scaling in scalings):
        raise CheckpointError(
            f"`rope_parameters` must stretch {FULL} and {SLIDING} alike, but does not. Such a scaling cannot be "
            "followed."
        )
    return {"kind": "rotary", "theta": [parameters[kind]["rope_theta"] for kind in types], "scaling": scalings[0]}


def typed_rope_to_hf(position: Any, types: Sequence[str], thetas: Mapping[str, float]) -> dict[str, Any]:
    """`rope_parameters` for a model whose layers turn by their type; `thetas` are those of types that it lacks."""
    position = position if isinstance(position, RotaryConfig) else RotaryConfig()
    each = position.theta if isinstance(position.theta, tuple) else (position.theta,)
    said = {**thetas, **{kind: each[number % len(each)] for number, kind in enumerate(types)}}
    return {kind: _scaling_to_hf(position, theta) for kind, theta in said.items()}

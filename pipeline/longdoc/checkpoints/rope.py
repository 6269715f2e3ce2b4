"""Rotary positions in `config.json`: `rope_parameters` of transformers 5, and the older keys, in our terms and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.checkpoints.reading import choice, mapping, whole
from longdoc.errors import CheckpointError
from longdoc.nn.position import RotaryConfig

__all__ = ["rope_from_hf", "rope_to_hf", "scaling_from_hf", "scaling_to_hf"]

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


def scaling_from_hf(parameters: Mapping[str, Any], max_len: int) -> dict[str, Any] | None:
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


def scaling_to_hf(position: RotaryConfig, theta: float) -> dict[str, Any]:
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
    scaling = scaling_from_hf(parameters, max_len)
    return {"kind": "rotary", "layout": layout, "theta": theta, "scaling": scaling}


def rope_to_hf(position: Any) -> dict[str, Any]:
    """`rope_parameters` for a model whose layers all turn alike; nothing for another kind of position."""
    if not isinstance(position, RotaryConfig) or not isinstance(position.theta, int | float):
        return {}
    return {"rope_parameters": scaling_to_hf(position, position.theta)}

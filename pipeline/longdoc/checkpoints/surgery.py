"""Explicit changes of an encoder: longer tables, other rotary frequencies, other positions, other token types.

All give a new encoder, which wants training, and leave the old one alone. What they return describes itself: saving
and loading keep it, in the layout of its family where that can say the change, else in our own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import torch
from pydantic import ValidationError
from torch import nn

from longdoc.checkpoints.opening import FAMILIES
from longdoc.errors import CheckpointError, UsageError
from longdoc.nn import Encoder, EncoderConfig
from longdoc.nn.position import (
    LearnedConfig,
    LearnedPosition,
    PositionConfig,
    PositionEncoding,
    PositionKind,
    RotaryConfig,
    StackedConfig,
    StackedPosition,
    interpolate,
    tile,
)
from longdoc.nn.position.limits import check_whole
from longdoc.nn.position.scaling import RotaryScaling, ScalingConfig
from longdoc.schema import explain_faults

__all__ = ["Lengthening", "change_token_types", "lengthen_positions", "replace_position", "replace_scaling"]

Lengthening = Literal["interpolate", "tile"]
_METHODS: dict[Lengthening, Callable[[LearnedPosition, int], LearnedPosition]] = {
    "interpolate": interpolate,
    "tile": tile,
}


def lengthen_positions(encoder: Encoder, tokens: int, method: Lengthening = "interpolate") -> Encoder:
    """The encoder with learned positions for `tokens` tokens a row.

    Args:
        encoder: one whose position encoding is a learned table, or a stack with one.
        tokens: the longest row afterwards, special tokens included; at least what it is now.
        method: `interpolate` draws lines between the trained rows, which changes short texts too; `tile` repeats them.

    Raises:
        UsageError: there is no learned table, `tokens` is fewer than it has or no whole number, or no such method.
    """
    if method not in _METHODS:
        raise UsageError(f"`method` must be one of {', '.join(_METHODS)}, but is {method!r} instead.")
    changed = copy.deepcopy(encoder)
    position, changed.position = _lengthened(encoder.config.position, changed.position, tokens, method)
    return _described(changed, position=position, max_len=tokens)


def _lengthened(
    config: PositionConfig, encoding: nn.Module, tokens: int, method: Lengthening
) -> tuple[PositionConfig, PositionEncoding]:
    if isinstance(config, LearnedConfig) and isinstance(encoding, LearnedPosition):
        longer = _METHODS[method](encoding, tokens)
        return config.model_copy(update={"rows": None if config.rows is None else longer.rows}), longer
    if isinstance(config, StackedConfig) and isinstance(encoding, StackedPosition):
        parts = list(config.parts)
        learned = [number for number, part in enumerate(parts) if isinstance(part, LearnedConfig)]
        for number in learned:
            parts[number], encoding.parts[number] = _lengthened(parts[number], encoding.parts[number], tokens, method)
        if learned:
            return config.model_copy(update={"parts": tuple(parts)}), encoding
    raise UsageError(
        f"`position` must be `learned`, or `stacked` with a learned part, but is `{config.kind}` instead. Only tables "
        "end; formulas and distances go on by themselves."
    )


def replace_position(encoder: Encoder, position: PositionConfig) -> Encoder:
    """The encoder with another position encoding, newly initialised; everything else keeps its weights.

    What the layers have learned goes with the encoding that they were trained with: this is where training starts, not
    a model to predict with. The encoder is no longer one of its family of checkpoints and is saved in our own layout.

    Raises:
        UsageError: `position` is no configuration of an encoding, or one that does not suit this encoder.
    """
    if not isinstance(position, PositionKind):
        raise UsageError(
            f"`position` must be the configuration of an encoding, such as RotaryConfig(), but is a "
            f"{type(position).__name__} instead."
        )
    config = encoder.config.model_copy(update={"position": position, "family": None})
    try:
        EncoderConfig.model_validate(config.model_dump())
    except ValidationError as error:
        raise UsageError(explain_faults(error, EncoderConfig)) from None
    changed = copy.deepcopy(encoder)
    changed.config = config
    changed.carried = {}
    weight = encoder.word.weight
    changed.position = position.build(changed.config.geometry).to(weight.device, weight.dtype).train(encoder.training)
    return changed


def replace_scaling(encoder: Encoder, scaling: ScalingConfig | None, tokens: int | None = None) -> Encoder:
    """The encoder with its rotary frequencies stretched for longer texts, whatever they were before.

    Args:
        encoder: one whose positions are rotary, or a stack with a rotary part.
        scaling: the method with its factor and, where it has one, its target length; None = the plain frequencies.
        tokens: the longest row that the encoder is meant for afterwards; None = as before.

    Raises:
        UsageError: nothing is rotary, `scaling` is no method or does not fit the head, or `tokens` is no whole number.
    """
    if scaling is not None and not isinstance(scaling, RotaryScaling):
        raise UsageError(
            f"`scaling` must be a method with its factor, such as YarnScaling(...), or None, but is a "
            f"{type(scaling).__name__} instead."
        )
    if tokens is not None:
        check_whole(tokens, "tokens", 1)
    position = _rescaled(encoder.config.position, scaling)
    changed = copy.deepcopy(encoder)
    max_len = encoder.config.max_len if tokens is None else tokens
    changed = _described(changed, position=position, max_len=max_len)
    encoding = position.build(changed.config.geometry)
    encoding.load_state_dict(encoder.position.state_dict())  # what else is in a stack keeps its weights
    weight = encoder.word.weight
    changed.position = encoding.to(weight.device, weight.dtype).train(encoder.training)
    return changed


def _rescaled(config: PositionConfig, scaling: ScalingConfig | None) -> PositionConfig:
    if isinstance(config, RotaryConfig):
        return config.model_copy(update={"scaling": scaling})
    if isinstance(config, StackedConfig) and any(isinstance(part, RotaryConfig) for part in config.parts):
        parts = (_rescaled(part, scaling) if isinstance(part, RotaryConfig) else part for part in config.parts)
        return config.model_copy(update={"parts": tuple(parts)})
    raise UsageError(
        f"`position` must be `rotary`, or `stacked` with a rotary part, but is `{config.kind}` instead. Only rotary "
        "frequencies can be stretched; `lengthen_positions` makes a table longer."
    )


def change_token_types(encoder: Encoder, rows: int) -> Encoder:
    """The encoder with `rows` token types.

    New types start as type 0, so that nothing changes before training. Without any, type 0, which every token has, is
    added to the words: what the encoder gives stays the same but for round-off.

    Raises:
        UsageError: `rows` is negative or no whole number.
    """
    check_whole(rows, "rows", 0)
    changed = copy.deepcopy(encoder)
    old = encoder.token_type
    word = changed.word.weight
    with torch.no_grad():
        first = word.new_zeros(1, word.shape[1]) if old is None else old.weight[:1]
        kept = first[:0] if old is None else old.weight[:rows]
        if rows == 0:
            changed.token_type = None
            word.add_(first)
        else:
            table = nn.Embedding(rows, word.shape[1], device=word.device, dtype=word.dtype)
            table.weight.copy_(torch.cat([kept, first.expand(rows - len(kept), -1)]))
            table.weight.requires_grad_(word.requires_grad)
            changed.token_type = table.train(encoder.training)
    return _described(changed, token_types=rows)


def _described(encoder: Encoder, **changes: Any) -> Encoder:
    """The encoder under its new configuration, out of its family where the family's files cannot say it."""
    config = encoder.config.model_copy(update=changes)
    if config.family in FAMILIES:
        try:
            FAMILIES[config.family].describe(config)
        except CheckpointError:
            config = config.model_copy(update={"family": None})
            encoder.carried = {}
    encoder.config = config
    return encoder

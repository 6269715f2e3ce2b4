"""Explicit changes of an encoder's positions: longer learned tables, another encoding altogether.

Both give a new encoder that wants training and leave the old one alone. What they return describes itself: saving and
loading keep it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Literal

from torch import nn

from longdoc.errors import UsageError
from longdoc.nn import Encoder
from longdoc.nn.position import (
    LearnedConfig,
    LearnedPosition,
    PositionConfig,
    PositionEncoding,
    StackedConfig,
    StackedPosition,
    interpolate,
    tile,
)

__all__ = ["Lengthening", "lengthen_positions", "replace_position"]

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
        UsageError: there is no learned table, or `tokens` is fewer than it has.
    """
    changed = copy.deepcopy(encoder)
    position, changed.position = _lengthened(encoder.config.position, changed.position, tokens, method)
    changed.config = encoder.config.model_copy(update={"position": position, "max_len": tokens})
    return changed


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
    """
    changed = copy.deepcopy(encoder)
    changed.config = encoder.config.model_copy(update={"position": position, "family": None})
    weight = encoder.word.weight
    changed.position = position.build(changed.config.geometry).to(weight.device, weight.dtype).train(encoder.training)
    changed.carried = {}
    return changed

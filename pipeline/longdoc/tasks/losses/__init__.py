"""What labels are learned by, one kind a file. `LossKind` is the only list of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from longdoc.schema import kind_by_word
from longdoc.tasks.losses.base import LossChoice
from longdoc.tasks.losses.cross_entropy import CrossEntropyConfig
from longdoc.tasks.losses.focal import FocalConfig
from longdoc.tasks.losses.wishes import LossWishes, PositiveWeights, refuse_loss, refuse_positive_weights

__all__ = [
    "PLAIN",
    "CrossEntropyConfig",
    "FocalConfig",
    "LossChoice",
    "LossConfig",
    "LossKind",
    "LossWishes",
    "PositiveWeights",
    "refuse_loss",
    "refuse_positive_weights",
]

# A new kind is one file and one name in this line.
LossKind = CrossEntropyConfig | FocalConfig

PLAIN = CrossEntropyConfig()
"""What everything is measured by."""


def _plain_unless_said(value: Any) -> Any:
    """`loss: {label_smoothing: 0.1}` is short for the same with the usual kind."""
    value = kind_by_word(value)
    return {"kind": PLAIN.kind, **value} if isinstance(value, Mapping) else value


LossConfig = Annotated[Annotated[LossKind, Field(discriminator="kind")], BeforeValidator(_plain_unless_said)]

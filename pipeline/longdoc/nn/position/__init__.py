"""Position encodings, one kind a file. `PositionConfig` is the only list of kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from longdoc.nn.position.base import (
    AdditivePosition,
    Geometry,
    PositionEncoding,
    PositionPlan,
    StackedPosition,
)
from longdoc.nn.position.learned import LearnedConfig, LearnedPosition
from longdoc.nn.position.none import NoPosition, NoPositionConfig
from longdoc.nn.position.rotary import RotaryConfig, RotaryPosition
from longdoc.nn.position.sinusoidal import SinusoidalConfig, SinusoidalPosition
from longdoc.nn.position.stacked import StackedConfig

__all__ = [
    "AdditivePosition",
    "Geometry",
    "LearnedConfig",
    "LearnedPosition",
    "NoPosition",
    "NoPositionConfig",
    "PositionConfig",
    "PositionEncoding",
    "PositionPlan",
    "RotaryConfig",
    "RotaryPosition",
    "SinusoidalConfig",
    "SinusoidalPosition",
    "StackedConfig",
    "StackedPosition",
]

# A new kind is one file and one name in this line.
PositionKind = LearnedConfig | SinusoidalConfig | RotaryConfig | NoPositionConfig | StackedConfig

PositionConfig = Annotated[PositionKind, Field(discriminator="kind")]
"""A position encoding by its `kind`."""

StackedConfig.model_rebuild(_types_namespace={"PositionConfig": PositionConfig})

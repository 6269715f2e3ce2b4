"""Position encodings, one kind a file. `PositionConfig` is the only list of kinds."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from longdoc.nn.position.alibi import AlibiConfig, AlibiPosition
from longdoc.nn.position.axes import reading_order, stack_axes
from longdoc.nn.position.axial import AxialConfig, AxialPosition
from longdoc.nn.position.axial_rotary import AxialRotaryConfig, AxialRotaryPosition
from longdoc.nn.position.base import AdditivePosition, Geometry, PositionEncoding, StackedPosition
from longdoc.nn.position.buckets import BucketsConfig, BucketsPosition
from longdoc.nn.position.depth import DepthConfig, DepthPosition
from longdoc.nn.position.direction import logical_positions
from longdoc.nn.position.disentangled import DisentangledConfig, DisentangledPosition
from longdoc.nn.position.language import LanguageConfig, LanguagePosition, language_number
from longdoc.nn.position.language_gate import LanguageGateConfig, LanguageGatePosition
from longdoc.nn.position.learned import LearnedConfig, LearnedPosition
from longdoc.nn.position.lengthening import interpolate, tile
from longdoc.nn.position.none import NoPosition, NoPositionConfig
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.position.rotary import RotaryConfig, RotaryPosition
from longdoc.nn.position.shaw import ShawConfig, ShawPosition
from longdoc.nn.position.sinusoidal import SinusoidalConfig, SinusoidalPosition
from longdoc.nn.position.stacked import StackedConfig
from longdoc.nn.position.structure import tree_steps
from longdoc.nn.position.tree import TreeConfig, TreePosition
from longdoc.nn.position.vocabularies import LanguageVocabularies
from longdoc.nn.position.weighted import WeightedConfig, WeightedPosition
from longdoc.schema import kind_by_word

__all__ = [
    "AdditivePosition",
    "AlibiConfig",
    "AlibiPosition",
    "AxialConfig",
    "AxialPosition",
    "AxialRotaryConfig",
    "AxialRotaryPosition",
    "BucketsConfig",
    "BucketsPosition",
    "DepthConfig",
    "DepthPosition",
    "DisentangledConfig",
    "DisentangledPosition",
    "Geometry",
    "LanguageConfig",
    "LanguageGateConfig",
    "LanguageGatePosition",
    "LanguagePosition",
    "LanguageVocabularies",
    "LearnedConfig",
    "LearnedPosition",
    "NoPosition",
    "NoPositionConfig",
    "PositionConfig",
    "PositionEncoding",
    "PositionKind",
    "PositionPlan",
    "RotaryConfig",
    "RotaryPosition",
    "ShawConfig",
    "ShawPosition",
    "SinusoidalConfig",
    "SinusoidalPosition",
    "StackedConfig",
    "StackedPosition",
    "TreeConfig",
    "TreePosition",
    "WeightedConfig",
    "WeightedPosition",
    "interpolate",
    "language_number",
    "logical_positions",
    "reading_order",
    "stack_axes",
    "tile",
    "tree_steps",
]

# A new kind is one file and one name in this line.
PositionKind = (
    LearnedConfig
    | SinusoidalConfig
    | WeightedConfig
    | RotaryConfig
    | AlibiConfig
    | ShawConfig
    | BucketsConfig
    | DisentangledConfig
    | AxialConfig
    | AxialRotaryConfig
    | TreeConfig
    | DepthConfig
    | LanguageConfig
    | LanguageGateConfig
    | NoPositionConfig
    | StackedConfig
)

PositionConfig = Annotated[Annotated[PositionKind, Field(discriminator="kind")], BeforeValidator(kind_by_word)]
"""A position encoding by its `kind`."""

for _kind in get_args(PositionKind):  # some kinds hold others
    _kind.model_rebuild(_types_namespace={"PositionConfig": PositionConfig})

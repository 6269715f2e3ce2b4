"""How rotary frequencies are stretched for texts longer than those of the training, one method a file.

`ScalingConfig` is the only list of methods.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from longdoc.nn.position.scaling.base import RotaryScaling, plain_frequencies
from longdoc.nn.position.scaling.dynamic import DynamicScaling
from longdoc.nn.position.scaling.linear import LinearScaling
from longdoc.nn.position.scaling.llama3 import Llama3Scaling
from longdoc.nn.position.scaling.longrope import LongRopeScaling
from longdoc.nn.position.scaling.yarn import YarnScaling
from longdoc.schema import kind_by_word

__all__ = [
    "DynamicScaling",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "RotaryScaling",
    "ScalingConfig",
    "YarnScaling",
    "plain_frequencies",
]

# A new method is one file and one name in this line.
ScalingKind = LinearScaling | DynamicScaling | YarnScaling | LongRopeScaling | Llama3Scaling

ScalingConfig = Annotated[Annotated[ScalingKind, Field(discriminator="kind")], BeforeValidator(kind_by_word)]
"""A way of stretching rotary frequencies, by its `kind`."""

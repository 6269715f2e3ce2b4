"""What every way of stretching rotary frequencies offers.

Frequencies are computed from the configuration alone. Two methods were published with frequencies that follow the
longest row of the current batch (dynamic NTK, LongRoPE); a short document then comes out differently beside a long
one. Here the length that they aim at is a field, `target_len`.

All frequencies are float32 and equal those of transformers' `ROPE_INIT_FUNCTIONS` bit for bit.
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from longdoc.schema import Config

__all__ = ["Factor", "Length", "RotaryScaling", "exponents", "plain_frequencies"]

Factor = Annotated[float, Field(ge=1, le=1 << 20)]
"""How many times longer texts may be."""

Length = Annotated[int, Field(ge=1, le=1 << 31)]
"""Tokens of a text."""


def exponents(width: int, device: torch.device | str = "cpu") -> Tensor:
    """float32 (width / 2,): 0, 2 / width, 4 / width ..."""
    return torch.arange(0, width, 2, dtype=torch.int64, device=device).float() / width


def plain_frequencies(theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
    """float32 (width / 2,): `theta^(-2i / width)`, the angle per step of position."""
    return 1.0 / theta ** exponents(width, device)


class RotaryScaling(Config):
    """A way of stretching frequencies; this one changes nothing."""

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        """float32 (width / 2,), for a turned part of `width` components."""
        return plain_frequencies(theta, width, device)

    @property
    def magnitude(self) -> float:
        """Factor of all cosines and sines (`attention_factor` in transformers)."""
        return 1.0

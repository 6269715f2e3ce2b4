"""The scaling of rotary frequencies in Llama 3.1: by wavelength."""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from longdoc.nn.position.scaling.base import Factor, Length, RotaryScaling, plain_frequencies

__all__ = ["Llama3Scaling"]


class Llama3Scaling(RotaryScaling):
    """Long wavelengths divided, short ones kept, smooth between (Llama 3.1, Grattafiori et al. 2024, 2407.21783)."""

    kind: Literal["llama3"] = "llama3"
    factor: Factor
    """How many times longer texts may be."""
    original_max_len: Length
    """The length that the model was trained on."""
    low_frequency_factor: float = Field(default=1.0, gt=0)
    """Wavelengths over `original_max_len` / this are divided by `factor`."""
    high_frequency_factor: float = Field(default=4.0, gt=0)
    """Wavelengths under `original_max_len` / this are kept."""

    @model_validator(mode="after")
    def _there_is_something_between(self) -> Llama3Scaling:
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError(
                f"`high_frequency_factor` must be greater than `low_frequency_factor` ({self.low_frequency_factor}), "
                f"but is {self.high_frequency_factor} instead."
            )
        return self

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        plain = plain_frequencies(theta, width, device)
        if self.factor == 1:  # bit for bit, which the blend below is not
            return plain
        wavelengths = 2 * math.pi / plain
        low, high = self.low_frequency_factor, self.high_frequency_factor
        smooth = (self.original_max_len / wavelengths - low) / (high - low)
        between = (1 - smooth) * plain / self.factor + smooth * plain
        scaled = torch.where(wavelengths < self.original_max_len / high, plain, between)
        return torch.where(wavelengths > self.original_max_len / low, plain / self.factor, scaled)

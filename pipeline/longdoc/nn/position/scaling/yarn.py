"""YaRN scaling of rotary frequencies: a ramp from kept to divided ones."""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.scaling.base import Factor, Length, RotaryScaling, exponents, plain_frequencies

__all__ = ["YarnScaling"]


class YarnScaling(RotaryScaling):
    """High frequencies kept, low ones divided, a ramp between (Peng et al. 2023, "YaRN", arXiv 2309.00071)."""

    kind: Literal["yarn"] = "yarn"
    factor: Factor
    """How many times longer texts may be."""
    original_max_len: Length
    """The length that the model was trained on."""
    beta_fast: float = Field(default=32.0, gt=0)
    """Frequencies that turn more often than this within `original_max_len` are kept."""
    beta_slow: float = Field(default=1.0, gt=0)
    """Frequencies that turn less often than this are divided by `factor`."""
    truncate: bool = True
    """Round the ends of the ramp to whole components."""
    attention_factor: float | None = Field(default=None, gt=0)
    """Factor of cosines and sines; None = `0.1 ln(factor) + 1`."""

    @model_validator(mode="after")
    def _the_ramp_goes_down(self) -> YarnScaling:
        if self.beta_fast <= self.beta_slow:
            raise ValueError(
                f"`beta_fast` must be greater than `beta_slow` ({self.beta_slow}), but is {self.beta_fast} instead."
            )
        return self

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        if self.factor == 1:  # bit for bit, which the two halves of the ramp are not
            return plain_frequencies(theta, width, device)
        if theta <= 1:
            raise UsageError(f"`theta` must be greater than 1 where YaRN stretches, but is {theta} instead.")
        low, high = (self._component(turns, theta, width) for turns in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, width - 1)
        steps = torch.arange(width // 2, dtype=torch.float32, device=device)
        kept = 1 - ((steps - low) / ((high - low) or 0.001)).clamp(0, 1)
        powers = theta ** exponents(width, device)
        return 1.0 / (self.factor * powers) * (1 - kept) + 1.0 / powers * kept

    def _component(self, turns: float, theta: float, width: int) -> float:
        """The component that turns so often within `original_max_len`."""
        return width * math.log(self.original_max_len / (turns * 2 * math.pi)) / (2 * math.log(theta))

    @property
    def magnitude(self) -> float:
        return 0.1 * math.log(self.factor) + 1.0 if self.attention_factor is None else self.attention_factor

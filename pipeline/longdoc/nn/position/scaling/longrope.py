"""LongRoPE scaling of rotary frequencies: one searched divisor for each."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.scaling.base import Factor, Length, RotaryScaling, exponents

__all__ = ["LongRopeScaling"]

Divisor = Annotated[float, Field(gt=0)]


class LongRopeScaling(RotaryScaling):
    """One searched divisor for each frequency (Ding et al. 2024, "LongRoPE", arXiv 2402.13753)."""

    kind: Literal["longrope"] = "longrope"
    factor: Factor
    """How many times longer texts may be."""
    original_max_len: Length = Field(ge=2)
    """The length that the model was trained on."""
    target_len: Length
    """The length that frequencies are made for: `long_factors` beyond `original_max_len`, else `short_factors`."""
    short_factors: tuple[Divisor, ...]
    """One divisor for each frequency."""
    long_factors: tuple[Divisor, ...]
    """One divisor for each frequency."""
    attention_factor: float | None = Field(default=None, gt=0)
    """Factor of cosines and sines; None = `sqrt(1 + ln(factor) / ln(original_max_len))`."""

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        divisors = self.long_factors if self.target_len > self.original_max_len else self.short_factors
        if len(divisors) != width // 2:
            raise UsageError(
                f"LongRoPE needs {width // 2} divisors, one for each turned pair of components, but has "
                f"{len(divisors)} instead."
            )
        divided = torch.tensor(divisors, dtype=torch.float32, device=device)
        return 1.0 / (divided * theta ** exponents(width, device))

    @property
    def magnitude(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_max_len))

"""Dynamic NTK scaling of rotary frequencies, for one fixed length."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.scaling.base import Factor, Length, RotaryScaling, plain_frequencies

__all__ = ["DynamicScaling"]


class DynamicScaling(RotaryScaling):
    """A larger base, so that low frequencies stretch and high ones stay ("dynamic NTK"), for one fixed length."""

    kind: Literal["dynamic"] = "dynamic"
    factor: Factor = 1.0
    """How strongly the base grows with the length; 1 stretches just enough."""
    original_max_len: Length
    """The length that the model was trained on."""
    target_len: Length
    """The length that frequencies are made for, whatever the texts; up to `original_max_len` nothing changes."""

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        length = max(self.target_len, self.original_max_len)
        growth = self.factor * length / self.original_max_len - (self.factor - 1)
        if width <= 2:
            raise UsageError(f"Dynamic scaling needs more than 2 turned components, but the head turns {width}.")
        return plain_frequencies(theta * growth ** (width / (width - 2)), width, device)

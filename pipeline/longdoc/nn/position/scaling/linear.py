"""Linear scaling of rotary frequencies: all positions closer together."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from longdoc.nn.position.scaling.base import Factor, RotaryScaling, plain_frequencies

__all__ = ["LinearScaling"]


class LinearScaling(RotaryScaling):
    """Positions divided by a factor (Chen et al. 2023, arXiv 2306.15595)."""

    kind: Literal["linear"] = "linear"
    factor: Factor
    """How many times longer texts may be."""

    def frequencies(self, theta: float, width: int, device: torch.device | str = "cpu") -> Tensor:
        return plain_frequencies(theta, width, device) / self.factor

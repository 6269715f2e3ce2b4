"""A window with gaps (Beltagy et al. 2020, "Longformer", arXiv 2004.05150, figure 2c)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from longdoc.nn.mask_rules.base import MaskRule

__all__ = ["DilatedRule"]


class DilatedRule(MaskRule):
    """Every `step`-th token on each side: far sight at the price of a narrow window."""

    kind: Literal["dilated"] = "dilated"
    radius: int = Field(ge=0, le=1 << 31)
    """Tokens that are seen on each side."""
    step: int = Field(ge=1, le=1 << 31)
    """How far apart they stand; 1 is a window without gaps."""

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        away = (key - query).abs()
        return (away % self.step == 0) & (away <= self.radius * self.step)

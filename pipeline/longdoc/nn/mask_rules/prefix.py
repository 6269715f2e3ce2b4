"""Causal but for a beginning that all may read (Raffel et al. 2020, arXiv 1910.10683, section 3.2.1: "prefix LM")."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from longdoc.nn.mask_rules.base import MaskRule

__all__ = ["PrefixRule"]


class PrefixRule(MaskRule):
    """Tokens see what stands before them, themselves, and the first `length` tokens."""

    kind: Literal["prefix"] = "prefix"
    length: int = Field(ge=0, le=1 << 31)
    """Tokens at the beginning that all see; 0 is a causal mask."""

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) | (key < self.length)

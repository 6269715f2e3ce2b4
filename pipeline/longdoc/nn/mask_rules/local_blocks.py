"""Blocks of neighbours that do not see beyond their borders (Qiu et al. 2020, "Blockwise self-attention",
arXiv 1911.02972, with each block attending to itself)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from longdoc.nn.mask_rules.base import MaskRule

__all__ = ["LocalBlocksRule"]


class LocalBlocksRule(MaskRule):
    """Tokens see those of their own block of `size` neighbours; blocks are counted from position 0."""

    kind: Literal["local_blocks"] = "local_blocks"
    size: int = Field(ge=1, le=1 << 31)
    """Tokens of a block."""

    def allows(self, query: Tensor, key: Tensor) -> Tensor:
        return query // self.size == key // self.size

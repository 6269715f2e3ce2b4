"""Relative positions as vectors (Shaw et al. 2018, "Self-Attention with Relative Position Representations", arXiv
1803.02155).

`e_ij = q_i . (k_j + aK[clip(j - i)]) / sqrt(Dh)` and `z_i = sum_j p_ij (v_j + aV[clip(j - i)])`: one trained vector for
each distance up to `clip` on each side, one pair of tables for all heads. Nothing of size L x L x Dh is made: queries
meet the whole table once and each pair picks its product, and the weights are summed by distance before they meet the
values' table.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.limits import MOST_ROWS
from longdoc.nn.position.plan import PositionPlan, ValueTerm
from longdoc.nn.position.relative import distances
from longdoc.schema import Config

__all__ = ["ShawConfig", "ShawPosition"]


class ShawPosition(PositionEncoding):
    """Adds a vector for the distance to each key and each value, for any positions.

    Args:
        head_width: Dh.
        clip: K. Distances beyond it count as K.
        values: whether values get vectors too; the paper finds that keys alone do as well.
        layers: tables of their own for so many layers; 1 = all layers share one.

    Attributes:
        keys, values: (layers, 2K + 1, Dh); row 0 is for keys K or more before the query. `values` may be None.
    """

    def __init__(self, head_width: int, clip: int = 16, values: bool = True, layers: int = 1) -> None:
        super().__init__()
        for name, value in (("head_width", head_width), ("clip", clip), ("layers", layers)):
            if value < 1:
                raise UsageError(f"`{name}` must be at least 1, but is {value} instead.")
        self.head_width = head_width
        self.clip = clip
        self.layers = layers
        shape = (layers, 2 * clip + 1, head_width)
        self.keys = nn.Parameter(torch.empty(shape))
        self.values = nn.Parameter(torch.empty(shape)) if values else None
        for table in self.parameters():
            nn.init.normal_(table, std=0.02)

    def rows(self, positions: Tensor) -> Tensor:
        """The row of the tables for each query and key: (1|N, L) -> int64 (1|N, L, L)."""
        return distances(positions).clamp(-self.clip, self.clip) + self.clip

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        return _ShawPlan(self.rows(positions)[:, None], self.keys, self.values)

    def extra_repr(self) -> str:
        return f"head_width={self.head_width}, clip={self.clip}, layers={self.layers}"


class _ShawPlan(PositionPlan):
    """Rows (1|N, 1, L, L) and the tables, (layers, 2K + 1, Dh)."""

    def __init__(self, rows: Tensor, keys: Tensor, values: Tensor | None) -> None:
        self.rows = rows
        self.keys = keys
        self.values = values

    def bias(self, q: Tensor, layer: int) -> Tensor:
        table = self.keys[layer % len(self.keys)].to(q.dtype)
        products = q @ table.T / math.sqrt(q.shape[-1])  # (N, H, L, 2K + 1)
        return products.gather(-1, self.rows.expand(*q.shape[:3], -1))

    def value_term(self, layer: int) -> ValueTerm | None:
        if self.values is None:
            return None
        table = self.values[layer % len(self.values)]

        def term(weights: Tensor) -> Tensor:
            by_distance = weights.new_zeros(*weights.shape[:3], len(table))
            by_distance = by_distance.scatter_add(-1, self.rows.expand_as(weights), weights)
            return by_distance @ table.to(weights.dtype)

        return term


class ShawConfig(Config):
    """A trained vector for each distance, on keys and values; any length."""

    kind: Literal["shaw"] = "shaw"
    clip: int = Field(default=16, ge=1, le=MOST_ROWS)
    """Distances beyond this count as this."""
    values: bool = True
    """Whether values get vectors too."""
    per_layer: bool = True
    """Tables of their own for each layer, as in the paper; false = one pair for all."""

    def build(self, geometry: Geometry) -> ShawPosition:
        """The encoding for an encoder of this geometry."""
        return ShawPosition(geometry.head_width, self.clip, self.values, geometry.layers if self.per_layer else 1)

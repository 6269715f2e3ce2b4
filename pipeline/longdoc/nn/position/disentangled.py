"""Disentangled attention (DeBERTa, He et al. 2021, arXiv 2006.03654; version 3, arXiv 2111.09543).

`A_ij = (q_i . k_j + q_i . Kr[d(i, j)] + k_j . Qr[d(i, j)]) / sqrt(3 Dh)`: content to content, content to position,
position to content. Kr and Qr are the layer's own key and query projections of one table of distances that all layers
share, after a layer norm. Distances are query minus key, near ones exact and far ones in logarithmic buckets.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.limits import MOST_ROWS
from longdoc.nn.position.plan import PositionPlan, ProjectQueriesKeys
from longdoc.nn.position.relative import distances
from longdoc.schema import Config

__all__ = ["DisentangledConfig", "DisentangledPosition", "signed_buckets"]


def signed_buckets(distance: Tensor, buckets: int = 256, max_distance: int = 512) -> Tensor:
    """The signed bucket of each distance, int64: itself up to `buckets / 2`, logarithmic beyond.

    Float32 logarithms, as in the models that were trained with it.
    """
    middle = buckets // 2
    far = distance.abs()
    ratio = torch.log(far.clamp(min=1).float() / middle) / math.log((max_distance - 1) / middle)
    shared = torch.ceil(ratio * (middle - 1)).to(torch.int64) + middle
    return torch.where(far <= middle, distance, shared * distance.sign())


class DisentangledPosition(PositionEncoding):
    """Adds content-to-position and position-to-content terms to the scores, for any positions.

    Args:
        width: D.
        head_width: Dh.
        buckets: buckets of each direction; the table has twice as many rows.
        max_distance: the distance at which the buckets of one direction end; all beyond share the last row.
        norm_eps: of the layer norm on the table.

    Attributes:
        table: (2 * buckets, D).
    """

    def __init__(
        self, width: int, head_width: int, buckets: int = 256, max_distance: int = 512, norm_eps: float = 1e-7
    ) -> None:
        super().__init__()
        if buckets < 4 or buckets % 2:
            raise UsageError(f"`buckets` must be even and at least 4, but is {buckets} instead.")
        if max_distance <= buckets // 2 + 1:
            raise UsageError(
                f"`max_distance` must be greater than {buckets // 2 + 1}, so that something is left for the "
                f"logarithmic buckets, but is {max_distance} instead."
            )
        self.head_width = head_width
        self.buckets = buckets
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.empty(2 * buckets, width))
        self.norm = nn.LayerNorm(width, eps=norm_eps)
        nn.init.normal_(self.table, std=0.02)

    def rows(self, positions: Tensor) -> Tensor:
        """The row of the table for each query and key: (1|N, L) -> int64 (1|N, L, L)."""
        signed = signed_buckets(-distances(positions), self.buckets, self.max_distance)
        return (signed + self.buckets).clamp(0, 2 * self.buckets - 1)

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        scale = 1 / math.sqrt(3 * self.head_width)
        return _DisentangledPlan(self.rows(positions)[:, None], self.norm(self.table), scale)

    def extra_repr(self) -> str:
        return f"head_width={self.head_width}, buckets={self.buckets}, max_distance={self.max_distance}"


class _DisentangledPlan(PositionPlan):
    """Rows (1|N, 1, L, L) and the normed table, (2 * buckets, D)."""

    def __init__(self, rows: Tensor, table: Tensor, scale: float) -> None:
        self.rows = rows
        self.table = table
        self.factor = scale
        self.scale = scale

    def content_bias(self, q: Tensor, k: Tensor, project: ProjectQueriesKeys, layer: int) -> Tensor:
        queries, keys = project(self.table)  # (H, R, Dh) each
        to_position = (q * self.factor) @ keys.transpose(-1, -2)  # (N, H, L, R), rows are queries
        to_content = (k * self.factor) @ queries.transpose(-1, -2)  # (N, H, L, R), rows are keys
        shape = (*q.shape[:3], -1)
        by_key = self.rows.transpose(-1, -2).expand(shape)
        return to_position.gather(-1, self.rows.expand(shape)) + to_content.gather(-1, by_key).transpose(-1, -2)


class DisentangledConfig(Config):
    """Content and distance score each other, as in DeBERTa; any length."""

    kind: Literal["disentangled"] = "disentangled"
    buckets: int = Field(default=256, ge=4, le=MOST_ROWS, multiple_of=2)
    """Buckets of each direction; the table has twice as many rows."""
    max_distance: int = Field(default=512, ge=4, le=1 << 31)
    """The distance at which the buckets end; all beyond share the last."""
    norm_eps: float = Field(default=1e-7, gt=0)
    """Of the layer norm on the table."""

    @model_validator(mode="after")
    def _something_is_left_for_the_logarithm(self) -> DisentangledConfig:
        if self.max_distance <= self.buckets // 2 + 1:
            raise ValueError(
                f"`max_distance` must be greater than {self.buckets // 2 + 1}, half the buckets and one, but is "
                f"{self.max_distance} instead."
            )
        return self

    def build(self, geometry: Geometry) -> DisentangledPosition:
        """The encoding for an encoder of this geometry."""
        return DisentangledPosition(geometry.width, geometry.head_width, self.buckets, self.max_distance, self.norm_eps)

"""A trained bias for each head and bucket of distances (T5, Raffel et al. 2020, arXiv 1910.10683; MPNet, 2004.09297).

Small distances have a bucket each, larger ones share buckets that grow with their logarithm, and everything from
`max_distance` on falls into the last. Both directions have buckets of their own. One table serves all layers.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.limits import MOST_ROWS
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.position.relative import SharedBiasPlan, distances
from longdoc.schema import Config

__all__ = ["BucketsConfig", "BucketsPosition", "distance_buckets"]


def distance_buckets(distance: Tensor, buckets: int = 32, max_distance: int = 128) -> Tensor:
    """The bucket of each distance (key minus query), int64, the shape of `distance`.

    The upper half of the buckets is for keys after the query. The logarithm is float32, as in the models that were
    trained with it: float64 moves the edges of the buckets.
    """
    side = buckets // 2
    exact = side // 2
    far = distance.abs()
    logarithm = torch.log(far.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    shared = (exact + (logarithm * (side - exact)).to(torch.int64)).clamp(max=side - 1)
    return torch.where(far < exact, far, shared) + torch.where(distance > 0, side, 0)


class BucketsPosition(PositionEncoding):
    """Adds a trained bias for the bucket of each distance, for any positions.

    Args:
        heads: H.
        buckets: rows of the table, a multiple of 4, half of them for each direction.
        max_distance: distances from here on share the last bucket of their direction.
        scaled: whether scores are divided by sqrt(Dh). MPNet and BERT do; T5 does not (its initialisation makes up
            for that), and its checkpoints need False.

    Attributes:
        weight: (buckets, H).
    """

    def __init__(self, heads: int, buckets: int = 32, max_distance: int = 128, scaled: bool = True) -> None:
        super().__init__()
        if buckets < 4 or buckets % 4:
            raise UsageError(f"`buckets` must be a multiple of 4 and at least 4, but is {buckets} instead.")
        if max_distance <= buckets // 4:
            raise UsageError(
                f"`max_distance` must be greater than {buckets // 4}, the distances that have a bucket each, but is "
                f"{max_distance} instead."
            )
        self.heads = heads
        self.buckets = buckets
        self.max_distance = max_distance
        self.scaled = scaled
        self.weight = nn.Parameter(torch.empty(buckets, heads))
        nn.init.normal_(self.weight, std=0.02)

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        bucket = distance_buckets(distances(positions), self.buckets, self.max_distance)
        bias = F.embedding(bucket, self.weight).permute(0, 3, 1, 2)  # (1|N, L, L, H) -> (1|N, H, L, L)
        return SharedBiasPlan(bias, None if self.scaled else 1.0)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, buckets={self.buckets}, max_distance={self.max_distance}, scaled={self.scaled}"


class BucketsConfig(Config):
    """A trained bias on the scores for each bucket of distances; any length."""

    kind: Literal["buckets"] = "buckets"
    buckets: int = Field(default=32, ge=4, le=MOST_ROWS, multiple_of=4)
    """Rows of the table, half of them for each direction."""
    max_distance: int = Field(default=128, ge=2, le=1 << 31)
    """Distances from here on share the last bucket of their direction."""
    scaled: bool = True
    """Divide scores by sqrt(head width), as MPNet and BERT do and T5 does not."""

    @model_validator(mode="after")
    def _last_bucket_lies_past_the_exact_ones(self) -> BucketsConfig:
        if self.max_distance <= self.buckets // 4:
            raise ValueError(
                f"`max_distance` must be greater than {self.buckets // 4}, the distances that have a bucket each, but "
                f"is {self.max_distance} instead."
            )
        return self

    def build(self, geometry: Geometry) -> BucketsPosition:
        """The encoding for an encoder of this geometry."""
        return BucketsPosition(geometry.heads, self.buckets, self.max_distance, self.scaled)

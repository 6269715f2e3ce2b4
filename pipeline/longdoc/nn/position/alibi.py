"""Attention with linear biases (Press et al. 2022, "Train Short, Test Long", arXiv 2108.12409), for encoders.

Each head subtracts its slope times the distance from the scores; the embeddings carry no position. In a decoder only
keys before the query count, and the bias may be written by the key's index alone, since softmax forgets what is
constant in a row. An encoder sees both sides and needs the full distance `|i - j|` (JinaBERT 2, arXiv 2310.19923;
MosaicBERT, arXiv 2312.17482).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.position.relative import SharedBiasPlan, distances
from longdoc.schema import Config

__all__ = ["AlibiConfig", "AlibiPosition", "alibi_slopes"]


def alibi_slopes(heads: int) -> list[float]:
    """The slope of each head: `2^(-8k / H)`, k = 1 .. H, where H is a power of two.

    For other numbers of heads: the slopes of the largest power of two below, then every other slope of the next power
    of two, until there is one for each head (as the authors' code, BLOOM and MPT do).
    """
    if heads < 1:
        raise UsageError(f"`heads` must be at least 1, but is {heads} instead.")
    below = 1 << (heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * k / below) for k in range(1, below + 1)]
    between = [2.0 ** (-4 * k / below) for k in range(1, 2 * below + 1, 2)]
    return slopes + between[: heads - below]


class AlibiPosition(PositionEncoding):
    """Subtracts slope * |i - j| from the scores, for any positions; nothing is trained.

    Args:
        heads: H, any number.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.slopes = tuple(alibi_slopes(heads))

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        """The bias of one forward pass, float32 whatever `dtype` is: 16 bits blur distances past 256."""
        slopes = torch.tensor(self.slopes, dtype=torch.float32, device=positions.device)
        return SharedBiasPlan(distances(positions)[:, None].abs() * -slopes[:, None, None])

    def extra_repr(self) -> str:
        return f"heads={self.heads}"


class AlibiConfig(Config):
    """A penalty on the scores that grows with the distance; any length, nothing to train."""

    kind: Literal["alibi"] = "alibi"

    def build(self, geometry: Geometry) -> AlibiPosition:
        """The encoding for an encoder of this geometry."""
        return AlibiPosition(geometry.heads)

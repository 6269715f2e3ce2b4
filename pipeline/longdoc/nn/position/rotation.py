"""The turning of queries and keys that all rotary kinds share.

Shape letters: N rows, H heads, L length, Dh width of a head, F = turned components / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.plan import PositionPlan

__all__ = ["PairLayout", "RotationPlan", "turn", "turned_components"]

PairLayout = Literal["half", "interleaved"]
"""Which components make a pair: `half` = i and i + half, `interleaved` = 2i and 2i + 1."""


def turned_components(width: int, partial_rotary_factor: float) -> int:
    """How many of `width` components of a head are turned: even, and at least 2."""
    turned = int(width * partial_rotary_factor)
    if not 0 < turned <= width or turned % 2:
        raise UsageError(
            "`partial_rotary_factor` must leave an even number of components to turn, at least 2 and at most "
            f"{width}, the width of a head, but {partial_rotary_factor} leaves {turned} instead."
        )
    return turned


def turn(x: Tensor, cosines: Tensor, sines: Tensor, layout: PairLayout) -> Tensor:
    """Turn the first 2F components of `x` (N, H, L, Dh), pair by pair; the rest passes through bit for bit.

    `cosines`, `sines`: (1|N, 1, L, F). Computed in float32 or finer, returned in the dtype of `x`.
    """
    turned = 2 * cosines.shape[-1]
    y = x[..., :turned].to(torch.promote_types(x.dtype, torch.float32))
    a, b = y.chunk(2, -1) if layout == "half" else (y[..., 0::2], y[..., 1::2])
    c, d = a * cosines - b * sines, b * cosines + a * sines
    y = torch.cat([c, d], -1) if layout == "half" else torch.stack([c, d], -1).flatten(-2)
    y = y.to(x.dtype)
    return y if turned == x.shape[-1] else torch.cat([y, x[..., turned:]], -1)


class RotationPlan(PositionPlan):
    """Turns queries and keys by given angles.

    Args:
        angles: float32 (1|N, 1, L, F), one for layer 0, 1 ... and from the first again where layers are more.
        layout: which components make a pair.
        magnitude: factor of the cosines and sines.
    """

    def __init__(self, angles: Sequence[Tensor], layout: PairLayout, magnitude: float = 1.0) -> None:
        made: dict[int, tuple[Tensor, Tensor]] = {}  # layers that share their angles share the cosines
        for each in angles:
            if id(each) not in made:
                made[id(each)] = (each.cos() * magnitude, each.sin() * magnitude)
        self.tables = [made[id(each)] for each in angles]
        self.layout: PairLayout = layout

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        cosines, sines = self.tables[layer % len(self.tables)]
        return turn(q, cosines, sines, self.layout), turn(k, cosines, sines, self.layout)

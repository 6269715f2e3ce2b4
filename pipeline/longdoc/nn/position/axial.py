"""Sinusoidal positions on several axes: rows and columns of image patches or of a page grid.

`alternate` deals the pairs of sine and cosine out to the axes in turn, so that a token with the same number on every
axis, as text tokens have, gets exactly the one-dimensional encoding. `blocks` gives each axis a narrower encoding of
its own, side by side (vision transformers: MAE, He et al. 2022, arXiv 2111.06377).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import AfterValidator, Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.axes import side_by_side, some_axes
from longdoc.nn.position.base import AdditivePosition, Geometry
from longdoc.nn.position.limits import Base, check_distinct
from longdoc.nn.position.sinusoidal import Layout, SinusoidalPosition
from longdoc.schema import Config

__all__ = ["Axes", "AxialConfig", "AxialPosition"]


def _distinct(axes: tuple[int, ...]) -> tuple[int, ...]:
    check_distinct(axes, "axes")
    return axes


Axes = Annotated[tuple[Annotated[int, Field(ge=0, le=1 << 10)], ...], Field(min_length=1), AfterValidator(_distinct)]
"""Numbers of axes of (A, N, L) positions, each once; 0 is the reading order."""

Split = Literal["alternate", "blocks"]


class AxialPosition(AdditivePosition):
    """Adds sines and cosines of a token's place on several axes, for any positions.

    Args:
        width: D; with `blocks` a multiple of twice the number of axes.
        axes: which axes of (A, 1|N, L) positions are read, in this order. The original MAE code puts the column first,
            transformers the row: that belongs to the weights.
        split: how components are shared out among the axes, see above.
        layout, base: as for the sinusoidal encoding.
    """

    def __init__(
        self,
        width: int,
        axes: Sequence[int] = (1, 2),
        split: Split = "alternate",
        layout: Layout = "concat",
        base: float = 10000.0,
    ) -> None:
        super().__init__(width)
        if not axes or min(axes) < 0:
            raise UsageError(f"`axes` must be numbers of axes, 0 or more, but is {tuple(axes)} instead.")
        check_distinct(axes, "axes")
        if split not in ("alternate", "blocks"):
            raise UsageError(f"`split` must be `alternate` or `blocks`, but is {split!r} instead.")
        if split == "blocks" and width % (2 * len(axes)):
            raise UsageError(
                f"`width` must be a multiple of {2 * len(axes)}, a sine and a cosine for each axis, but is {width} "
                "instead."
            )
        self.axes = tuple(axes)
        self.split: Split = split
        self.sinusoidal = SinusoidalPosition(width // len(axes) if split == "blocks" else width, layout, base)

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) or (A, 1|N, L) -> float64 (1|N, L, D)."""
        each = [self.sinusoidal.vectors(axis) for axis in some_axes(positions, self.axes)]
        if self.split == "blocks":
            return torch.cat(side_by_side(each), -1)
        component = torch.arange(self.width, device=positions.device)
        pair = component // 2 if self.sinusoidal.layout == "interleaved" else component % ((self.width + 1) // 2)
        result = each[0]
        for number, vectors in enumerate(each[1:], start=1):
            result = torch.where(pair % len(each) == number, vectors, result)
        return result

    def extra_repr(self) -> str:
        return f"width={self.width}, axes={self.axes}, split={self.split}"


class AxialConfig(Config):
    """Sines and cosines of a token's row and column (or other axes), added to the embeddings; any size."""

    kind: Literal["axial"] = "axial"
    axes: Axes = (1, 2)
    """Which axes of the positions are read; 0 is the reading order. Plain text has the same number on all."""
    split: Split = "alternate"
    """`alternate` = pairs dealt out in turn, one-dimensional for text; `blocks` = one part of the width each (ViT)."""
    layout: Layout = "concat"
    """`interleaved` = sine, cosine, sine ... ; `concat` = all sines, then all cosines."""
    base: Base = 10000.0
    """The longest wavelength is 2 pi * base."""

    def build(self, geometry: Geometry) -> AxialPosition:
        """The encoding for an encoder of this geometry."""
        return AxialPosition(geometry.embedding_width, self.axes, self.split, self.layout, self.base)

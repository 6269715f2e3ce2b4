"""Sinusoidal positions (Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section 3.5).

`PE[p, 2i] = sin(p / base^(2i/D))`, `PE[p, 2i+1] = cos(p / base^(2i/D))`.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.base import AdditivePosition, Geometry
from longdoc.nn.position.limits import Base, FarOffset, PastMaxLen, check_base, check_limit
from longdoc.schema import Config

__all__ = ["SinusoidalConfig", "SinusoidalPosition"]

Layout = Literal["interleaved", "concat"]


class SinusoidalPosition(AdditivePosition):
    """Adds the sines and cosines of a position, for any position.

    Args:
        width: D, odd widths too: one more sine than cosines.
        layout: `interleaved` = sine, cosine, sine, cosine ... (the paper, DistilBERT, XLM); `concat` = all sines, then
            all cosines (RoFormer, Marian, Pegasus). They are not interchangeable.
        base: wavelengths run from 2 pi to 2 pi * base.
        offset: added to each position (fairseq counts from its padding id + 1).
        scale: multiply the embedding by sqrt(D) before adding, as the paper does and BERT-like models do not.
        max_len: positions are meant to be below this; None = no limit.
        past_max_len: `extend` goes on with the formula, `error` refuses.
    """

    def __init__(
        self,
        width: int,
        layout: Layout = "interleaved",
        base: float = 10000.0,
        offset: int = 0,
        scale: bool = False,
        max_len: int | None = None,
        past_max_len: PastMaxLen = "extend",
    ) -> None:
        super().__init__(width)
        if layout not in ("interleaved", "concat"):
            raise UsageError(f"`layout` must be `interleaved` or `concat`, but is {layout!r} instead.")
        check_base(base, "base")
        check_limit(max_len, past_max_len)
        self.layout: Layout = layout
        self.base = base
        self.offset = offset
        self.scale = scale
        self.max_len = max_len
        self.past_max_len: PastMaxLen = past_max_len

    @property
    def max_tokens(self) -> int | None:
        return self.max_len if self.past_max_len == "error" else None

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) -> float64 (1|N, L, D); float32 of the float64 values on devices that have no float64.

        Angles must be float64: in float32 the error is 5e-3 at position 100,000 and in bfloat16 0.7 at 512.
        """
        positions = reading_order(positions, self.max_tokens)
        device = positions.device
        at = torch.device("cpu") if device.type == "mps" else device  # mps has no float64
        pairs = (self.width + 1) // 2
        wavelengths = torch.pow(
            torch.tensor(self.base, dtype=torch.float64, device=at),
            2 * torch.arange(pairs, dtype=torch.float64, device=at) / self.width,
        )
        angles = (positions.to(at) + self.offset).to(torch.float64)[..., None] / wavelengths
        sines, cosines = angles.sin(), angles.cos()[..., : self.width // 2]
        if self.layout == "concat":
            result = torch.cat([sines, cosines], -1)
        else:
            result = torch.empty(*positions.shape, self.width, dtype=torch.float64, device=at)
            result[..., 0::2] = sines
            result[..., 1::2] = cosines
        return result if at == device else result.to(torch.float32).to(device)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().embed(x * math.sqrt(self.width) if self.scale else x, positions)

    def extra_repr(self) -> str:
        return f"width={self.width}, layout={self.layout}, base={self.base:g}, offset={self.offset}, scale={self.scale}"


class SinusoidalConfig(Config):
    """Sines and cosines added to the embeddings; any length, nothing to train."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    layout: Layout = "interleaved"
    """`interleaved` = sine, cosine, sine ... ; `concat` = all sines, then all cosines."""
    base: Base = 10000.0
    """The longest wavelength is 2 pi * base."""
    offset: FarOffset = 0
    """Added to each position."""
    scale: bool = False
    """Multiply the embeddings by sqrt(width) first, as the paper does."""
    max_len: int | None = Field(default=None, ge=1)
    """Positions are meant to be below this; None = no limit."""
    past_max_len: PastMaxLen = "extend"
    """`extend` goes on with the formula past `max_len`, `error` refuses."""

    @model_validator(mode="after")
    def _limit_has_a_place(self) -> SinusoidalConfig:
        check_limit(self.max_len, self.past_max_len)
        return self

    def build(self, geometry: Geometry) -> SinusoidalPosition:
        """The encoding for an encoder of this geometry."""
        return SinusoidalPosition(
            geometry.embedding_width, self.layout, self.base, self.offset, self.scale, self.max_len, self.past_max_len
        )

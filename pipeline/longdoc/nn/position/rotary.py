"""Rotary positions (Su et al. 2021, "RoFormer", arXiv 2104.09864).

Each pair of components of a query or key is turned by an angle proportional to its position, so that the product of a
query and a key depends on their distance only. Values are not turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.base import Geometry, PositionEncoding
from longdoc.nn.position.limits import Base, PastMaxLen, check_base, check_limit
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.position.rotation import PairLayout, RotationPlan, turned_components
from longdoc.nn.position.scaling import RotaryScaling, ScalingConfig, plain_frequencies
from longdoc.schema import Config

__all__ = ["RotaryConfig", "RotaryPosition"]


class RotaryPosition(PositionEncoding):
    """Turns queries and keys, for any position.

    Args:
        width: Dh, the width of one head.
        layout: which components make a pair. `half` = i and i + half (Llama, GPT-NeoX, ModernBERT); `interleaved` =
            2i and 2i + 1 (RoFormer, GPT-J, NeoBERT). A wrong one never crashes and is always wrong: it belongs to the
            weights.
        theta: base of the frequencies, `theta^(-2i / turned)`. Several = one for layer 0, 1 ... and from the first
            again where layers are more (ModernBERT, whose every third layer attends to everything: 160000, 10000,
            10000).
        partial_rotary_factor: share of the head that is turned; the exponent runs over the turned part only, and the
            rest passes through bit for bit.
        max_len: positions are meant to be below this; None = no limit.
        past_max_len: `extend` goes on with the formula, `error` refuses.
        scaling: how frequencies are stretched for texts longer than those of the training; None = not at all.
    """

    def __init__(
        self,
        width: int,
        layout: PairLayout = "half",
        theta: float | Sequence[float] = 10000.0,
        partial_rotary_factor: float = 1.0,
        max_len: int | None = None,
        past_max_len: PastMaxLen = "extend",
        scaling: RotaryScaling | None = None,
    ) -> None:
        super().__init__()
        if layout not in ("half", "interleaved"):
            raise UsageError(f"`layout` must be `half` or `interleaved`, but is {layout!r} instead.")
        thetas = (theta,) if isinstance(theta, int | float) else tuple(theta)
        if not thetas:
            raise UsageError("`theta` must hold at least one number, but is empty.")
        for each in thetas:
            check_base(each, "theta")
        check_limit(max_len, past_max_len)
        self.width = width
        self.layout: PairLayout = layout
        self.thetas = thetas
        self.turned = turned_components(width, partial_rotary_factor)
        self.max_len = max_len
        self.past_max_len: PastMaxLen = past_max_len
        self.scaling = scaling
        self.frequencies("meta")  # a scaling that does not fit the head is refused here, not in the first forward pass

    @property
    def max_tokens(self) -> int | None:
        return self.max_len if self.past_max_len == "error" else None

    def frequencies(self, device: torch.device | str = "cpu", layer: int = 0) -> Tensor:
        """float32 (turned / 2,): angle per step of position in a layer. Computed, never stored."""
        theta = self.thetas[layer % len(self.thetas)]
        make = plain_frequencies if self.scaling is None else self.scaling.frequencies
        return make(theta, self.turned, device)

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        """Cosines and sines for one forward pass, float32 whatever `dtype` is, also under autocast.

        Float32 rather than float64, since this is what the checkpoints were trained with; never a 16-bit type, in
        which positions past 256 coincide.
        """
        order = reading_order(positions, self.max_tokens)
        # Products of elements, not of matrices: autocast leaves them in float32.
        steps = order.reshape(-1, 1, order.shape[-1], 1).float()
        angles = {theta: steps * self.frequencies(order.device, layer) for layer, theta in enumerate(self.thetas)}
        magnitude = 1.0 if self.scaling is None else self.scaling.magnitude
        return RotationPlan([angles[theta] for theta in self.thetas], self.layout, magnitude)

    def extra_repr(self) -> str:
        thetas = ", ".join(f"{theta:g}" for theta in self.thetas)
        return f"width={self.width}, layout={self.layout}, theta={thetas}, turned={self.turned}"


class RotaryConfig(Config):
    """Queries and keys turned by their position; any length, nothing to train."""

    kind: Literal["rotary"] = "rotary"
    layout: PairLayout = "half"
    """Which components make a pair: `half` = i and i + half, `interleaved` = 2i and 2i + 1."""
    theta: Base | Annotated[tuple[Base, ...], Field(min_length=1)] = 10000.0
    """Base of the frequencies; several = one for layer 0, 1 ... and from the first again."""
    partial_rotary_factor: float = Field(default=1.0, gt=0, le=1)
    """Share of each head that is turned."""
    max_len: int | None = Field(default=None, ge=1)
    """Positions are meant to be below this; None = no limit."""
    past_max_len: PastMaxLen = "extend"
    """`extend` goes on with the formula past `max_len`, `error` refuses."""
    scaling: ScalingConfig | None = None
    """How frequencies are stretched for longer texts, by its `kind`; null = not at all."""

    @model_validator(mode="after")
    def _limit_has_a_place(self) -> RotaryConfig:
        check_limit(self.max_len, self.past_max_len)
        return self

    @property
    def layers_named(self) -> int:
        """Layers that have a number of their own."""
        return len(self.theta) if isinstance(self.theta, tuple) else 1

    def build(self, geometry: Geometry) -> RotaryPosition:
        """The encoding for an encoder of this geometry."""
        return RotaryPosition(
            geometry.head_width,
            self.layout,
            self.theta,
            self.partial_rotary_factor,
            self.max_len,
            self.past_max_len,
            self.scaling,
        )

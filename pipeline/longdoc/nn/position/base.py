"""What every position encoding is: a function of positions that may speak at three moments of a forward pass.

1. on the embeddings, once: `PositionEncoding.embed`;
2. on queries and keys, in each layer: `PositionPlan.rotate`;
3. on the scores, in each layer: `PositionPlan.bias` (and, where the attention weights themselves are needed,
   `PositionPlan.value_term`).

Each has a neutral default, the encoder always calls all of them, and nobody asks which kind it holds. Nothing is
cached from call to call and no table of a formula is a buffer: the result for one text can depend neither on what
ran before nor on a longer neighbour, changing a limit cannot break the loading of a checkpoint, and a model built on
the meta device has nothing that could stay uninitialised.

Shape letters: N rows, L padded length, D width of the model, H heads, Dh width of a head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from longdoc.errors import UsageError

__all__ = [
    "AdditivePosition",
    "Geometry",
    "PastMaxLen",
    "PositionEncoding",
    "PositionPlan",
    "ProjectQueriesKeys",
    "StackedPosition",
    "ValueTerm",
    "check_positions",
]

ValueTerm = Callable[[Tensor], Tensor]
"""(N, H, L, L) attention weights -> (N, H, L, Dh), added to the weighted sum of the values."""

ProjectQueriesKeys = Callable[[Tensor], tuple[Tensor, Tensor]]
"""(R, D) -> two of (H, R, Dh): the layer's own query and key projections, applied to R rows of a table."""

PastMaxLen = Literal["extend", "error"]
"""What a formula does with a position at or past `max_len`: go on with the formula, or refuse."""


@dataclass(frozen=True)
class Geometry:
    """What a position encoding must know of the encoder it serves.

    Attributes:
        width: D.
        heads: H.
        head_width: Dh.
        layers: number of layers.
        max_len: the longest row that the encoder is meant for; tables have that many rows.
    """

    width: int
    heads: int
    head_width: int
    layers: int
    max_len: int


class PositionPlan:
    """Position for one forward pass, made once and asked by every layer. A value; it owns no parameters.

    This class is also the plan of every encoding that has nothing to say to the layers.
    """

    scale: float | None = None
    """Factor of the query-key products; None = 1 / sqrt(Dh)."""

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Queries and keys (N, H, L, Dh) of layer `layer`, with position in them."""
        return q, k

    def bias(self, q: Tensor, layer: int) -> Tensor | None:
        """What is added to the scaled scores of layer `layer`: (1|N, 1|H, L, L), or None for nothing."""
        return None

    def content_bias(self, q: Tensor, k: Tensor, project: ProjectQueriesKeys, layer: int) -> Tensor | None:
        """The bias for kinds that also need the keys or the layer's own projections (disentangled attention).

        This is what the layer calls. All other kinds define `bias` and leave this alone.
        """
        return self.bias(q, layer)

    def value_term(self, layer: int) -> ValueTerm | None:
        """What is added to the output, as a function of the attention weights (Shaw et al. 2018), or None."""
        return None


class PositionEncoding(nn.Module):
    """A position encoding. Positions are integers, (1|N, L), and may be any: nothing assumes 0, 1, 2 ..."""

    @property
    def max_tokens(self) -> int | None:
        """Positions at or past this are refused; None = there is no end."""
        return None

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Embeddings (N, L, D) with position in them; the same dtype as `x`."""
        return x

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        """The plan of one forward pass in which activations have `dtype`."""
        return PositionPlan()


class AdditivePosition(PositionEncoding, ABC):
    """An encoding that adds one vector to each embedding."""

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 1:
            raise UsageError(f"`width` must be at least 1, but is {width} instead.")
        self.width = width

    @abstractmethod
    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) -> (1|N, L, D), in the precision in which the kind computes."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        if x.shape[-1] != self.width:
            raise UsageError(
                f"`x` must have width {self.width}, the width that this encoding was built for, but has shape "
                f"{tuple(x.shape)} instead."
            )
        if x.ndim != 3 or x.shape[1] != positions.shape[-1]:
            raise UsageError(
                f"`x` must have shape (N, {positions.shape[-1]}, {self.width}), rows first, one token for each position, "
                f"but has shape {tuple(x.shape)} instead."
            )
        return x + self.vectors(positions).to(x.dtype)


class StackedPosition(PositionEncoding):
    """Several encodings at once, for example a learned table and a relative bias."""

    def __init__(self, parts: Sequence[PositionEncoding]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    @property
    def max_tokens(self) -> int | None:
        return min((limit for part in self._encodings() if (limit := part.max_tokens) is not None), default=None)

    def _encodings(self) -> list[PositionEncoding]:
        return [part for part in self.parts if isinstance(part, PositionEncoding)]

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        for part in self._encodings():
            x = part.embed(x, positions)
        return x

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        return _StackedPlan([part.plan(positions, dtype) for part in self._encodings()])


class _StackedPlan(PositionPlan):
    """The plans of the parts: rotations one after the other, biases and value terms summed."""

    def __init__(self, plans: Sequence[PositionPlan]) -> None:
        self.plans = plans
        scales = {plan.scale for plan in plans if plan.scale is not None}
        if len(scales) > 1:
            raise UsageError(f"Stacked encodings must agree on one scale of the scores, but ask for {sorted(scales)}.")
        self.scale = scales.pop() if scales else None

    def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        for plan in self.plans:
            q, k = plan.rotate(q, k, layer)
        return q, k

    def bias(self, q: Tensor, layer: int) -> Tensor | None:
        return _sum([plan.bias(q, layer) for plan in self.plans])

    def content_bias(self, q: Tensor, k: Tensor, project: ProjectQueriesKeys, layer: int) -> Tensor | None:
        return _sum([plan.content_bias(q, k, project, layer) for plan in self.plans])

    def value_term(self, layer: int) -> ValueTerm | None:
        terms = [term for plan in self.plans if (term := plan.value_term(layer)) is not None]
        if not terms:
            return None

        def total(weights: Tensor) -> Tensor:
            result = terms[0](weights)
            for term in terms[1:]:
                result = result + term(weights)
            return result

        return total


def _sum(terms: Sequence[Tensor | None]) -> Tensor | None:
    total: Tensor | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def check_positions(positions: Tensor, max_len: int | None) -> None:
    """Refuse what is no integer, and positions outside `[0, max_len)` where there is a limit.

    On the CPU every position is looked at. Elsewhere that would make the host wait for the device in each forward
    pass, so the length of the rows is compared instead; what slips through meets the device's own index check.

    Raises:
        UsageError: the message names the limit and the position.
    """
    if positions.dtype.is_floating_point or positions.dtype.is_complex or positions.dtype == torch.bool:
        raise UsageError(
            f"`positions` must be integers, but are {positions.dtype} instead: a floating type of 16 bits cannot tell "
            "neighbours apart past 256."
        )
    if max_len is None or positions.numel() == 0 or torch.compiler.is_compiling() or positions.is_meta:
        return
    if positions.device.type == "cpu":
        lowest, highest = (int(end) for end in positions.aminmax())
    else:
        lowest, highest = 0, positions.shape[-1] - 1
    if lowest < 0 or highest >= max_len:
        raise UsageError(
            f"`positions` must be in [0, {max_len}), the limit of this position encoding, but reach from {lowest} to "
            f"{highest} instead. Cut the text into chunks of at most {max_len} tokens, or extend the encoding."
        )

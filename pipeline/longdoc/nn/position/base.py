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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.position.plan import PositionPlan, StackedPlan

__all__ = [
    "AdditivePosition",
    "Geometry",
    "PositionEncoding",
    "PositionPlan",
    "StackedPosition",
]


@dataclass(frozen=True)
class Geometry:
    """What a position encoding must know of the encoder it serves.

    Attributes:
        width: D.
        heads: H.
        head_width: Dh.
        layers: number of layers.
        max_len: the longest row that the encoder is meant for; tables have that many rows.
        embedding_width: width of the embeddings, to which additive kinds add; 0 = D.
    """

    width: int
    heads: int
    head_width: int
    layers: int
    max_len: int
    embedding_width: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "embedding_width", self.embedding_width or self.width)


class PositionEncoding(nn.Module):
    """A position encoding.

    Positions are integers and may be any: nothing assumes 0, 1, 2 ... They are (1|N, L), or (A, 1|N, L) where tokens
    have further axes: `reading_order`, `distances` and `further_axis` (`axes.py`, `relative.py`) read both.
    """

    @property
    def max_tokens(self) -> int | None:
        """Positions at or past this are refused; None = there is no end."""
        return None

    @property
    def further_axes(self) -> Mapping[int, str]:
        """Number of each further axis that is read -> what documents have there, as `text/axes.py` names it."""
        return {}

    @property
    def languages(self) -> tuple[str, ...]:
        """Whose numbers stand on the axis `language`; empty where none is read."""
        return ()

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
        """Positions (1|N, L), or with further axes -> (1|N, L, D), in the precision in which the kind computes."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        if x.shape[-1] != self.width:
            raise UsageError(
                f"`x` must have width {self.width}, the width that this encoding was built for, but has shape "
                f"{tuple(x.shape)} instead."
            )
        if x.ndim != 3 or x.shape[1] != positions.shape[-1]:
            raise UsageError(
                f"`x` must have shape (N, {positions.shape[-1]}, {self.width}), rows first, one token for each "
                f"position, but has shape {tuple(x.shape)} instead."
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

    @property
    def further_axes(self) -> Mapping[int, str]:
        names: dict[int, str] = {}
        for part in self._encodings():
            for axis, name in part.further_axes.items():
                if names.setdefault(axis, name) != name:
                    raise UsageError(
                        f"Axis {axis} of the positions must mean one thing, but is read as {names[axis]} and as "
                        f"{name}. Give one of the encodings another `axis`."
                    )
        return names

    @property
    def languages(self) -> tuple[str, ...]:
        return next((part.languages for part in self._encodings() if part.languages), ())

    def _encodings(self) -> list[PositionEncoding]:
        return [part for part in self.parts if isinstance(part, PositionEncoding)]

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        for part in self._encodings():
            x = part.embed(x, positions)
        return x

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        return StackedPlan([part.plan(positions, dtype) for part in self._encodings()])

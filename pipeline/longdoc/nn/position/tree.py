"""Positions in a tree: the path from the root, as vectors (Shiv and Quirk, NeurIPS 2019, "Novel positional encodings
to enable tree-based transformers").

A document is a tree of sections, paragraphs and sentences; a step is the number of a child. The most recent step comes
first in the vector, one of `branching` components each, weighted by `p^t` for the step t before: a child is its parent,
shifted and weighted once more. The root is zero, and so is everything where no structure is known: a tree is added to
an encoding that carries the order, and never replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.position.axes import axis_or_zeros
from longdoc.nn.position.axial import Axes
from longdoc.nn.position.base import AdditivePosition, Geometry, StackedPosition
from longdoc.nn.position.limits import check_distinct
from longdoc.nn.position.sinusoidal import SinusoidalConfig
from longdoc.schema import Config

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["TreeConfig", "TreePosition"]


class TreePosition(AdditivePosition):
    """Adds the path of each token in a tree.

    Args:
        width: D. Of it `decays * steps * branching` components are used, with as many decays as fit; the rest get 0.
        axes: axes of (A, 1|N, L) positions that hold the steps, root first: 0 = no step here, 1 = the first child.
        branching: children that can be told apart; further ones count as the last.

    Attributes:
        decay: (decays,), `p = tanh(decay)`, one weight for each step back.
    """

    def __init__(self, width: int, axes: Sequence[int] = (1, 2, 3), branching: int = 8) -> None:
        super().__init__(width)
        if not axes or min(axes) < 1:
            raise UsageError(f"`axes` must be numbers of further axes, 1 or more, but is {tuple(axes)} instead.")
        check_distinct(axes, "axes")
        if branching < 1 or branching * len(axes) > width:
            raise UsageError(
                f"`branching` must be at least 1 and at most {width // len(axes)}, the width ({width}) shared by "
                f"{len(axes)} steps, but is {branching} instead."
            )
        self.axes = tuple(axes)
        self.branching = branching
        decays = width // (branching * len(axes))
        self.decay = nn.Parameter(torch.empty(decays))
        with torch.no_grad():  # from forgetting soon to remembering all
            self.decay.copy_(torch.atanh(torch.linspace(0.7, 0.99, decays)))

    def vectors(self, positions: Tensor) -> Tensor:
        """(A, 1|N, L) -> (1|N, L, D), in float32 or finer; zeros where there is no structure."""
        decay = torch.tanh(self.decay.to(torch.promote_types(self.decay.dtype, torch.float32)))
        children = torch.stack([axis_or_zeros(positions, axis) for axis in self.axes], -1)  # (1|N, L, steps)
        present = children > 0
        back = present.flip(-1).cumsum(-1).flip(-1) - present.to(torch.int64)  # steps that come after this one
        child = F.one_hot((children - 1).clamp(0, self.branching - 1), self.branching) * present[..., None]
        when = F.one_hot(back.clamp(max=len(self.axes) - 1), len(self.axes))
        path = torch.einsum("...kt,...kb->...tb", when.to(decay.dtype), child.to(decay.dtype))
        steps = torch.arange(len(self.axes), dtype=decay.dtype, device=decay.device)
        weights = decay ** steps[:, None] * torch.sqrt((1 - decay**2) * self._used / 2)  # (steps, decays)
        vectors = (path[..., None] * weights[:, None, :]).flatten(-3)  # (1|N, L, steps, branching, decays) -> used
        return F.pad(vectors, (0, self.width - self._used))

    @property
    def further_axes(self) -> Mapping[int, str]:
        return dict(zip(self.axes, ("section", "paragraph", "sentence"), strict=False))

    @property
    def _used(self) -> int:
        return len(self.axes) * self.branching * len(self.decay)

    def extra_repr(self) -> str:
        return f"width={self.width}, axes={self.axes}, branching={self.branching}, decays={len(self.decay)}"


class TreeConfig(Config):
    """The path of each token in a tree of sections, paragraphs and sentences, on top of another encoding."""

    kind: Literal["tree"] = "tree"
    order: PositionConfig = SinusoidalConfig()
    """The encoding that carries the order of the tokens."""
    axes: Axes = (1, 2, 3)
    """Axes of the positions that hold the steps, root first: of a document its sections, paragraphs and sentences."""
    branching: int | None = Field(default=None, ge=1)
    """Children that can be told apart; null = at most 16, as many as the width has room for twice."""

    def build(self, geometry: Geometry) -> StackedPosition:
        """The encoding for an encoder of this geometry."""
        branching = self.branching or max(1, min(16, geometry.embedding_width // (2 * len(self.axes))))
        return StackedPosition(
            [self.order.build(geometry), TreePosition(geometry.embedding_width, self.axes, branching)]
        )

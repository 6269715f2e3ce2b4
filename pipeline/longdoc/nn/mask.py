"""Who may attend to whom: boolean until the last line, True = may attend.

Every rule is one comparison of two positions or two segments, so packed rows and padding on either side need nothing
of their own. Combine with `&` and `|`; `attend` is where a mask meets a kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.mask_conventions import allowed_from_masked, as_bool

__all__ = ["AttentionMask"]

_FARTHEST = 1 << 31  # past any text, and far from where an int64 ends


@dataclass(frozen=True, eq=False)
class AttentionMask:
    """Which keys each query may attend to.

    Attributes:
        allowed: bool, four axes that broadcast to (N, H, L, L): rows, heads, queries, keys. True = may attend.
            None = every query may attend to every key, which lets the fastest kernel run.
    """

    allowed: Tensor | None = None

    def __post_init__(self) -> None:
        if self.allowed is None:
            return
        if not isinstance(self.allowed, Tensor):
            raise UsageError(f"`allowed` must be a tensor, but is a {type(self.allowed).__name__} instead.")
        if self.allowed.dtype != torch.bool:
            raise UsageError(
                f"`allowed` must be bool, True = may attend, but is {self.allowed.dtype} instead. For a mask in which "
                "1 means masked, call `AttentionMask.from_masked`."
            )
        if self.allowed.ndim != 4:
            raise UsageError(
                "`allowed` must have the four axes (rows, heads, queries, keys), but has shape "
                f"{tuple(self.allowed.shape)} instead."
            )

    @classmethod
    def padding(cls, valid: Tensor) -> AttentionMask:
        """Keys that are real tokens.

        Args:
            valid: (N, L), True = a real token; integers 0 and 1 are taken too (`attention_mask` of tokenizers).
        """
        _require(valid, 2, "valid")
        return cls(as_bool(valid, "valid")[:, None, None, :])

    @classmethod
    def causal(cls, positions: Tensor) -> AttentionMask:
        """Keys at the same position or before. `positions`: integers, (1|N, L)."""
        order = _whole_numbers(positions, "positions")
        return cls(order[:, None, None, :] <= order[:, None, :, None])

    @classmethod
    def sliding_window(cls, positions: Tensor, radius: int) -> AttentionMask:
        """Keys at most `radius` positions away, on each side, the token itself and both ends included.

        A row of `2 * radius + 1` keys in the middle of a text. A causal window of w tokens, the token itself included,
        is `sliding_window(positions, w - 1) & causal(positions)`. `positions`: integers, (1|N, L).
        """
        order = _whole_numbers(positions, "positions")
        if isinstance(radius, bool) or not isinstance(radius, int) or not 0 <= radius <= _FARTHEST:
            raise UsageError(f"`radius` must be a whole number in [0, {_FARTHEST}], but is {radius} instead.")
        return cls((order[:, None, None, :] - order[:, None, :, None]).abs() <= radius)

    @classmethod
    def blocks(cls, segments: Tensor) -> AttentionMask:
        """Keys of the query's own segment: several texts in one row that do not see each other. `segments`: (N, L)."""
        numbers = _whole_numbers(segments, "segments")
        return cls(numbers[:, None, None, :] == numbers[:, None, :, None])

    @classmethod
    def globals_(cls, is_global: Tensor) -> AttentionMask:
        """Pairs of which one is a global token: it sees all and is seen by all (Longformer, arXiv 2004.05150).

        Combine with `|` to a window before `&` with padding. `is_global`: bool, (N, L).
        """
        _require(is_global, 2, "is_global")
        flags = as_bool(is_global, "is_global")
        return cls(flags[:, None, None, :] | flags[:, None, :, None])

    @classmethod
    def from_masked(cls, mask: Tensor) -> AttentionMask:
        """The other convention: True = masked out.

        Args:
            mask: (N, 1, 1, L) padding, (1, L, L) for all rows, or (N, 1, L, L). Bool; or numbers that are all 0 or 1
                with 1 = masked; or an additive mask, 0 = attend and -10,000 or less = masked.

        Raises:
            UsageError: (a ValueError) any other shape, since more than one reading would be possible; any other
                number, since it would be a bias.
        """
        return cls(allowed_from_masked(mask))

    def __and__(self, other: AttentionMask) -> AttentionMask:
        """Pairs that both allow."""
        if self.allowed is None or other.allowed is None:
            return other if self.allowed is None else self
        return AttentionMask(torch.logical_and(*_fitting(self.allowed, other.allowed)))

    def __or__(self, other: AttentionMask) -> AttentionMask:
        """Pairs that at least one allows."""
        if self.allowed is None or other.allowed is None:
            return AttentionMask()
        return AttentionMask(torch.logical_or(*_fitting(self.allowed, other.allowed)))

    def additive(self, dtype: torch.dtype) -> Tensor | None:
        """The mask as numbers to add to scores: 0 = may attend, the lowest number of `dtype` = may not.

        For kernels outside this package. Add it once: twice the lowest number is -inf. A row in which nothing is
        allowed becomes an ordinary softmax over all keys here; `attend` makes it 0.

        Raises:
            UsageError: `dtype` is no floating type: it has no number that is low enough for every score.
        """
        if not dtype.is_floating_point:
            raise UsageError(f"`dtype` must be a floating type, but is {dtype} instead.")
        if self.allowed is None:
            return None
        zeros = torch.zeros(self.allowed.shape, dtype=dtype, device=self.allowed.device)
        return zeros.masked_fill(~self.allowed, torch.finfo(dtype).min)

    @cached_property
    def answerable(self) -> Tensor:
        """Queries with at least one key, (1|N, 1|H, 1|L, 1). Only where `allowed` is a tensor."""
        return self._tensor.any(-1, keepdim=True)

    @cached_property
    def for_kernel(self) -> Tensor:
        """`allowed`, with all keys for queries that have none, so that no kernel divides 0 by 0."""
        return self._tensor | ~self.answerable

    def scores(self, dtype: torch.dtype) -> Tensor:
        """`for_kernel` as numbers to add to scores, 0 and -inf; made once. Only where `allowed` is a tensor."""
        if dtype not in self._scores:
            zeros = torch.zeros(self.for_kernel.shape, dtype=dtype, device=self.for_kernel.device)
            self._scores[dtype] = zeros.masked_fill(~self.for_kernel, -math.inf)
        return self._scores[dtype]

    @cached_property
    def _scores(self) -> dict[torch.dtype, Tensor]:
        return {}

    @property
    def _tensor(self) -> Tensor:
        if self.allowed is None:
            raise UsageError("This mask allows everything and has no tensor; look at `allowed` first.")
        return self.allowed


def _fitting(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Two masks that can be combined as they are."""
    if any(a != b and 1 not in (a, b) for a, b in zip(one.shape, other.shape, strict=True)):
        raise UsageError(
            f"masks that are combined must be of rows of one shape, but are of {tuple(one.shape)} and "
            f"{tuple(other.shape)}. Make both for the same batch."
        )
    return one, other


def _whole_numbers(tensor: Tensor, name: str) -> Tensor:
    """(1|N, L) as int64: small and unsigned types would wrap around in a difference, and floats of 16 bits round."""
    _require(tensor, 2, name)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool:
        raise UsageError(f"`{name}` must be integers, but are {tensor.dtype} instead.")
    return tensor.to(torch.int64)


def _require(tensor: Tensor, axes: int, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise UsageError(f"`{name}` must be a tensor of shape (N, L), but is a {type(tensor).__name__} instead.")
    if tensor.ndim != axes:
        raise UsageError(f"`{name}` must have shape (N, L), but has shape {tuple(tensor.shape)} instead.")

"""Positions with more than one axis.

A token's place in the reading order is one integer, and positions are (1|N, L). Some tokens have more to say: a patch
has a row and a column, a token of a structured document a section and a paragraph, a token of a mixed corpus a
language. Then positions are (A, 1|N, L), and **axis 0 is the reading order**: every kind that knows one dimension, and
every mask, reads that and nothing else. Further axes are read by the kinds that name them, so any kinds may be
stacked, and a caller with plain positions notices nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.limits import check_integers, check_positions

__all__ = ["axis_or_zeros", "further_axis", "reading_order", "side_by_side", "some_axes", "stack_axes"]


def reading_order(positions: Tensor, max_len: int | None = None) -> Tensor:
    """The place of each token in the reading order: axis 0 of (A, 1|N, L), or (1|N, L) as it is.

    Raises:
        UsageError: not integers, or outside `[0, max_len)` where there is a limit.
    """
    order = positions[0] if positions.ndim == 3 else positions
    check_positions(order, max_len)
    return order


def further_axis(positions: Tensor, axis: int) -> Tensor | None:
    """Axis `axis` of (A, 1|N, L) positions, (1|N, L); None where positions are the reading order alone.

    Raises:
        UsageError: positions have several axes, but not this one.
    """
    if positions.ndim != 3:
        return None
    if axis >= positions.shape[0]:
        raise UsageError(
            f"`positions` must have at least {axis + 1} axes, since this encoding reads axis {axis}, but have "
            f"{positions.shape[0]} instead. Stack the missing one, or pass the reading order alone."
        )
    return positions[axis]


def some_axes(positions: Tensor, axes: Sequence[int]) -> list[Tensor]:
    """The named axes of positions, (1|N, L) each.

    Positions that are the reading order alone stand for every axis: a text token has the same number in all of them,
    which makes a two-dimensional encoding one-dimensional for text.
    """
    order = reading_order(positions)
    return [order if (axis := further_axis(positions, number)) is None else axis for number in axes]


def axis_or_zeros(positions: Tensor, axis: int) -> Tensor:
    """Axis `axis` of positions, int64 (1|N, L); zeros where positions are the reading order alone."""
    found = further_axis(positions, axis)
    return torch.zeros_like(reading_order(positions), dtype=torch.int64) if found is None else found.to(torch.int64)


def stack_axes(order: Tensor, *axes: Tensor) -> Tensor:
    """Positions with further axes: (1|N, L) each, integers -> int64 (1 + number of `axes`, 1|N, L).

    Raises:
        UsageError: not integers, or of lengths or numbers of rows that do not fit.
    """
    for axis in (order, *axes):
        check_integers(axis, "axes")
        if axis.ndim != 2 or axis.shape[1] != order.shape[1]:
            raise UsageError(
                f"`axes` must have shape (1|N, {order.shape[-1]}), as the reading order, but one has shape "
                f"{tuple(axis.shape)} instead."
            )
    rows = {len(axis) for axis in (order, *axes)} - {1}
    if len(rows) > 1:
        raise UsageError(f"`axes` must be of one number of rows or of 1, but have {sorted(rows)} rows.")
    return torch.stack(side_by_side([axis.to(torch.int64) for axis in (order, *axes)]))


def side_by_side(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors of rows (1|N, ...) in the shape that all of them have together."""
    shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))  # type: ignore[no-untyped-call]
    return [tensor.expand(shape) for tensor in tensors]

"""Positions with several axes: axis 0 is the reading order, and nobody mistakes axes for rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import SinusoidalPosition, reading_order, stack_axes
from longdoc.nn.position.axes import axis_or_zeros, further_axis, some_axes
from nn_kit import some_ids, tiny_encoder


def test_axis_0_is_the_reading_order() -> None:
    order, row = torch.tensor([[0, 1, 2]]), torch.tensor([[7, 7, 8], [5, 5, 5]])
    positions = stack_axes(order, row)
    assert positions.shape == (2, 2, 3)
    assert reading_order(positions).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert further_axis(positions, 1).tolist() == row.tolist()
    assert reading_order(order) is order


def test_plain_positions_are_all_axes_of_a_grid_and_no_step_of_a_tree() -> None:
    order = torch.tensor([[4, 5]])
    assert further_axis(order, 1) is None
    assert [axis.tolist() for axis in some_axes(order, (1, 2))] == [[[4, 5]], [[4, 5]]]
    assert axis_or_zeros(order, 3).tolist() == [[0, 0]]


def test_a_missing_axis_is_named() -> None:
    message = (
        "`positions` must have at least 4 axes, since this encoding reads axis 3, but have 2 instead. Stack the "
        "missing one, or pass the reading order alone."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        further_axis(torch.zeros(2, 1, 5, dtype=torch.int64), 3)


def test_one_dimensional_kinds_read_the_order_and_keep_the_shape() -> None:
    x, order = torch.randn(2, 5, 8), torch.arange(5)[None]
    encoding = SinusoidalPosition(8)
    assert torch.equal(encoding.embed(x, stack_axes(order, order * 0, order + 9)), encoding.embed(x, order))


@pytest.mark.parametrize("position", [{"kind": "learned"}, {"kind": "rotary"}, {"kind": "shaw"}, {"kind": "alibi"}])
@pytest.mark.parametrize("masks", [{}, {"window": 2}, {"causal": True}])
def test_an_encoder_masks_by_the_reading_order(position: dict, masks: dict[str, Any]) -> None:
    encoder = tiny_encoder(position=position, **masks)
    ids = torch.tensor([some_ids(9), some_ids(9, seed=1)])
    valid = torch.arange(9)[None] < torch.tensor([[9], [6]])
    order = torch.arange(9)[None]
    positions = stack_axes(order, torch.full((1, 9), 3), order.flip(-1))
    assert torch.equal(encoder(ids, valid, positions)[valid], encoder(ids, valid, order)[valid])


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (
            [torch.arange(3)[None], torch.arange(4)[None]],
            "`axes` must have shape (1|N, 3), as the reading order, but one has shape (1, 4) instead.",
        ),
        (
            [torch.arange(3)[None], torch.arange(3)],
            "`axes` must have shape (1|N, 3), as the reading order, but one has shape (3,) instead.",
        ),
        (
            [torch.zeros(2, 3, dtype=torch.int64), torch.zeros(4, 3, dtype=torch.int64)],
            "`axes` must be of one number of rows or of 1, but have [2, 4] rows.",
        ),
        ([torch.arange(3)[None], torch.zeros(1, 3)], "`axes` must be integers, but are torch.float32 instead."),
    ],
)
def test_axes_that_do_not_fit_are_refused(axes: list[torch.Tensor], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        stack_axes(*axes)

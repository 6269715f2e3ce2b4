"""Weighted sinusoidal positions: the axis of the weight is explicit, and the last weight holds past the end."""

from __future__ import annotations

import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, SinusoidalPosition, WeightedConfig, WeightedPosition
from reference.positions import sinusoid


def weighted(axis: str, width: int, max_len: int) -> WeightedPosition:
    encoding = WeightedPosition(width, max_len, axis)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(1, encoding.weight.numel() + 1).reshape(encoding.weight.shape))
    return encoding


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
@pytest.mark.parametrize("axis", ["position", "dim", "scalar"])
def test_untrained_it_is_the_sinusoidal_encoding(axis: str, layout: str) -> None:
    x, positions = torch.randn(2, 9, 7), torch.arange(9)[None]
    expected = SinusoidalPosition(7, layout).embed(x, positions)
    assert torch.equal(WeightedPosition(7, 4, axis, layout).embed(x, positions), expected)


@pytest.mark.parametrize(("width", "max_len"), [(6, 6), (6, 4), (4, 9)])
def test_a_weight_for_each_position_never_becomes_one_for_each_component(width: int, max_len: int) -> None:
    encoding = weighted("position", width, max_len)
    out = encoding.embed(torch.zeros(1, max_len, width), torch.arange(max_len)[None])[0]
    for position in range(max_len):
        expected = [(position + 1) * x for x in sinusoid(position, width)]
        assert out[position].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_weight_for_each_component_and_one_in_all() -> None:
    out = weighted("dim", 4, 9).embed(torch.zeros(1, 1, 4), torch.tensor([[3]]))[0, 0]
    assert out.tolist() == pytest.approx([(c + 1) * x for c, x in enumerate(sinusoid(3, 4))], abs=1e-6)
    scalar = WeightedPosition(4, axis="scalar")
    with torch.no_grad():
        scalar.weight.fill_(-2.0)
    out = scalar.embed(torch.zeros(1, 1, 4), torch.tensor([[3]]))[0, 0]
    assert out.tolist() == pytest.approx([-2 * x for x in sinusoid(3, 4)], abs=1e-6)


def test_past_the_end_the_last_weight_holds() -> None:
    encoding = weighted("position", 8, 5)
    assert encoding.max_tokens is None
    out = encoding.embed(torch.zeros(1, 3, 8), torch.tensor([[4, 5, 70_000]]))[0]
    for row, position in zip(out, (4, 5, 70_000), strict=True):
        assert row.tolist() == pytest.approx([5 * x for x in sinusoid(position, 8)], abs=1e-5)


def test_each_weight_learns_from_its_own_positions() -> None:
    encoding = WeightedPosition(4, 6)
    encoding.embed(torch.zeros(1, 2, 4), torch.tensor([[1, 9]])).sum().backward()
    gradient = encoding.weight.grad.flatten().tolist()
    assert gradient == pytest.approx([0, sum(sinusoid(1, 4)), 0, 0, 0, sum(sinusoid(9, 4))], abs=1e-6)


def test_shapes_are_those_that_broadcast_along_one_axis() -> None:
    geometry = Geometry(width=24, heads=3, head_width=8, layers=1, max_len=40)
    assert WeightedConfig().build(geometry).weight.shape == (1, 40, 1)
    assert WeightedConfig(max_len=9).build(geometry).weight.shape == (1, 9, 1)
    assert WeightedConfig(axis="dim").build(geometry).weight.shape == (1, 1, 24)
    assert WeightedConfig(axis="scalar").build(geometry).weight.shape == (1,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axis": "head"}, "`axis` must be `position`, `dim` or `scalar`, but is 'head' instead."),
        ({"max_len": 0}, "`max_len` must be at least 1, but is 0 instead."),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        WeightedPosition(4, **arguments)

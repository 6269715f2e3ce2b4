"""Several encodings at once."""

from __future__ import annotations

import re

import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from longdoc.errors import UsageError
from longdoc.nn.position import (
    Geometry,
    LearnedPosition,
    PositionConfig,
    PositionEncoding,
    PositionPlan,
    RotaryPosition,
    SinusoidalPosition,
    StackedPosition,
)


class DistancePlan(PositionPlan):
    def __init__(self, positions: torch.Tensor, slope: float, scale: float | None = None) -> None:
        self.distances = -slope * (positions[:, None, :, None] - positions[:, None, None, :]).abs().float()
        self.scale = scale

    def bias(self, q: torch.Tensor, layer: int) -> torch.Tensor:
        return self.distances * (layer + 1)

    def value_term(self, layer: int):
        return lambda weights: weights.sum(-1, keepdim=True) * (layer + 1)


class Distance(PositionEncoding):
    def __init__(self, slope: float, scale: float | None = None) -> None:
        super().__init__()
        self.slope, self.scale = slope, scale

    def plan(self, positions: torch.Tensor, dtype: torch.dtype) -> PositionPlan:
        return DistancePlan(positions, self.slope, self.scale)


def test_each_part_speaks_in_its_turn() -> None:
    learned, rotary = LearnedPosition(8, rows=20), RotaryPosition(4)
    stack = StackedPosition([learned, SinusoidalPosition(8), rotary, Distance(0.5), Distance(0.25)])
    positions = torch.arange(6)[None]
    x = torch.randn(2, 6, 8)
    assert torch.equal(stack.embed(x, positions), SinusoidalPosition(8).embed(learned.embed(x, positions), positions))
    plan = stack.plan(positions, torch.float32)
    q, k = torch.randn(2, 1, 2, 6, 4)
    for mine, alone in zip(plan.rotate(q, k, 0), rotary.plan(positions, torch.float32).rotate(q, k, 0), strict=True):
        assert torch.equal(mine, alone)
    for layer in (0, 3):
        bias = plan.bias(q, layer)
        assert bias[0, 0, 1, 4].item() == pytest.approx(-0.75 * 3 * (layer + 1))
        assert torch.equal(plan.content_bias(q, k, lambda table: (table, table), layer), bias)
        assert plan.value_term(layer)(torch.ones(1, 1, 1, 2)).item() == pytest.approx(2 * 2 * (layer + 1))
    assert set(stack.state_dict()) == {"parts.0.weight"}


def test_parts_without_bias_leave_the_fast_path_open() -> None:
    plan = StackedPosition([RotaryPosition(4)]).plan(torch.arange(3)[None], torch.float32)
    q = torch.randn(1, 1, 3, 4)
    assert plan.bias(q, 0) is None
    assert plan.value_term(0) is None
    assert plan.scale is None


def test_the_shortest_limit_counts() -> None:
    assert StackedPosition([LearnedPosition(8, rows=20), LearnedPosition(8, rows=30)]).max_tokens == 20
    assert StackedPosition([SinusoidalPosition(8)]).max_tokens is None


def test_two_scales_are_refused() -> None:
    stack = StackedPosition([Distance(1.0, scale=1.0), Distance(1.0, scale=0.5), Distance(1.0)])
    message = "Stacked encodings must agree on one scale of the scores, but ask for [0.5, 1.0]."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        stack.plan(torch.arange(3)[None], torch.float32)
    assert (
        StackedPosition([Distance(1.0, scale=0.5), Distance(1.0)]).plan(torch.arange(3)[None], torch.float32).scale
        == 0.5
    )


def test_a_stack_is_a_kind_of_the_union_and_may_hold_a_stack() -> None:
    adapter = TypeAdapter(PositionConfig)
    config = adapter.validate_python(
        {
            "kind": "stacked",
            "parts": [{"kind": "learned", "rows": 9}, {"kind": "stacked", "parts": [{"kind": "rotary"}]}],
        }
    )
    stack = config.build(Geometry(width=8, heads=2, head_width=4, layers=1, max_len=512))
    assert stack.max_tokens == 9
    assert adapter.validate_json(adapter.dump_json(config)) == config
    with pytest.raises(ValidationError):
        adapter.validate_python({"kind": "stacked", "parts": []})

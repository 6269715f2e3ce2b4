"""Broken encodings, and what the study must say of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from longdoc.config import position_config
from longdoc.nn.position import (
    AdditivePosition,
    DepthPosition,
    Geometry,
    LanguagePosition,
    PositionEncoding,
    PositionKind,
    PositionPlan,
    ShawPosition,
    SinusoidalPosition,
    StackedPosition,
    WeightedPosition,
    reading_order,
)
from longdoc.nn.position.plan import ValueTerm
from longdoc.nn.position.relative import SharedBiasPlan, distances
from longdoc.nn.position.rotation import RotationPlan
from longdoc.study.positions import PositionStudy, study_encoding, study_positions

KINDS = [get_args(kind.model_fields["kind"].annotation)[0] for kind in get_args(PositionKind)]
SMALL = Geometry(width=32, heads=4, head_width=8, layers=1, max_len=100)


def studied(encoding: PositionEncoding, length: int = 100, dtype: str = "fp32", layers: int = 1) -> PositionStudy:
    return study_encoding(encoding, Geometry(32, 4, 8, layers, length), "made", length, dtype)


class Altered(AdditivePosition):
    """A table of sines and cosines that something was done to."""

    def __init__(self, change: Callable[[Tensor], Tensor], width: int = 32, length: int = 100) -> None:
        super().__init__(width)
        table = SinusoidalPosition(width).vectors(torch.arange(length)[None])[0]
        self.table = change(table.clone())

    def vectors(self, positions: Tensor) -> Tensor:
        return self.table[reading_order(positions)]


def louder(first: int, factor: float) -> Callable[[Tensor], Tensor]:
    return lambda table: torch.cat([table[:first], table[first:] * factor])


def negated_cosines(table: Tensor) -> Tensor:
    table[50:, 1::2] *= -1
    return table


def doubled_frequencies(table: Tensor) -> Tensor:
    faster = SinusoidalPosition(32).vectors(2 * torch.arange(100)[None])[0]
    return torch.cat([table[:50], faster[50:]])


def swapped(table: Tensor) -> Tensor:
    table[[40, 90]] = table[[90, 40]]
    return table


def wrong_first_row(table: Tensor) -> Tensor:
    table[0] *= 2
    return table


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (louder(5, 1.3), 5),
        (louder(10, 2.0), 10),
        (louder(1, 1.001), 0),
        (louder(2, 0.5), 2),
        (louder(99, 1.3), 99),
        (negated_cosines, 50),
        (doubled_frequencies, 50),
        (swapped, 40),
        (wrong_first_row, 0),
    ],
)
def test_a_broken_wave_is_named_with_its_first_position(change: Callable[[Tensor], Tensor], place: int) -> None:
    assert studied(Altered(change)).verdict == [f"what is added breaks its wave pattern at position {place}"]


def test_one_fault_hides_no_other() -> None:
    both = StackedPosition([Altered(louder(20, 2.0)), Biased(lambda d: torch.full(d.shape, 0.5))])
    assert studied(both).verdict == [
        "what is added breaks its wave pattern at position 20",
        "the bias of the scores is the same at every distance: it says nothing about position",
    ]


@pytest.mark.parametrize("width", [1, 2, 3, 7, 33])
def test_odd_widths_are_waves_and_break_like_others(width: int) -> None:
    geometry = Geometry(width, 1, 8, 1, 100)
    for layout in ("interleaved", "concat"):
        assert study_encoding(SinusoidalPosition(width, layout), geometry, "made").verdict == []
    if width > 2:
        study = study_encoding(Altered(louder(30, 2.0), width), geometry, "made")
        assert study.verdict == ["what is added breaks its wave pattern at position 30"]


def test_a_wave_under_trained_parameters_is_judged_by_itself() -> None:
    stacked = StackedPosition([Altered(louder(20, 2.0)), DepthPosition(32)])
    assert studied(stacked).verdict == ["what Altered adds breaks its wave pattern at position 20"]


def test_trained_tables_and_weights_are_no_waves() -> None:
    weighted = WeightedPosition(32, 100)
    with torch.no_grad():
        weighted.weight[0, :40] *= torch.linspace(0.5, 1.5, 40)[:, None]
    assert studied(weighted).verdict == []


@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from([kind for kind in KINDS if kind not in ("none", "stacked")]),
    length=st.integers(1, 160),
    head_width=st.sampled_from([12, 16, 24]),
    heads=st.sampled_from([1, 2, 8]),
    dtype=st.sampled_from(["fp32", "bf16", "fp16"]),
)
def test_no_kind_of_the_union_raises_a_false_alarm(
    kind: str, length: int, head_width: int, heads: int, dtype: str
) -> None:
    study = study_positions(position_config(kind), head_width * heads, heads, length, dtype)
    assert study.verdict == []


def test_far_rotary_positions_are_still_waves() -> None:
    assert study_positions(position_config("rotary"), width=16, heads=1, length=2000).verdict == []


class Turned(PositionEncoding):
    """Turns queries one way and keys the other, so that products depend on the sum of two positions."""

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        angles = reading_order(positions)[:, None, :, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
        there, back = RotationPlan([angles], "half"), RotationPlan([-angles], "half")

        class Plan(PositionPlan):
            def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
                return there.rotate(q, q, layer)[0], back.rotate(k, k, layer)[1]

        return Plan()


def test_queries_and_keys_that_turn_apart_are_named() -> None:
    assert studied(Turned()).verdict == [
        "the product of a query and a key depends on more than their distance from position 1 on"
    ]


class Biased(PositionEncoding):
    """A bias made of the distances."""

    def __init__(self, make: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.make = make

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        return SharedBiasPlan(self.make(distances(positions)[:, None]))


def with_one_constant_head(d: Tensor) -> Tensor:
    return torch.cat([-d.abs().float(), torch.full(d.shape, 3.0)] * 2, 1)


@pytest.mark.parametrize(
    ("make", "length", "dtype", "verdict"),
    [
        (
            lambda d: torch.full(d.shape, 0.5),
            20,
            "fp32",
            "the bias of the scores is the same at every distance: it says nothing about position",
        ),
        (with_one_constant_head, 20, "fp32", "the bias of the scores is the same at every distance in heads 1, 3"),
        (
            lambda d: -d.abs().bfloat16() * 0.5,
            1000,
            "fp32",
            "the bias of the scores is the same at distances 256 and 257 in head 0, on what is otherwise a straight "
            "line: it is computed in a format of too few bits",
        ),
        (
            lambda d: -d.abs() * 1e5,
            20,
            "fp16",
            "the bias of the scores overflows to infinity in fp16, first in head 0 at distance 1",
        ),
        (
            lambda d: (-d.abs().float()).masked_fill(d == 3, float("nan")),
            20,
            "fp32",
            "the bias of the scores holds NaN or infinity, first in head 0 at query 0 and key 3",
        ),
        (
            lambda d: torch.zeros(d.shape),
            20,
            "fp32",
            "the bias of the scores is 0 everywhere (as trained kinds that start at 0 are)",
        ),
    ],
)
def test_a_bias_that_cannot_serve_is_named(
    make: Callable[[Tensor], Tensor], length: int, dtype: str, verdict: str
) -> None:
    assert studied(Biased(make), length, dtype).verdict == [verdict]


@pytest.mark.parametrize("make", [lambda d: -d.abs().float(), lambda d: -d.abs().clamp(max=40) * 0.3])
def test_a_line_and_a_line_that_ends_are_healthy(make: Callable[[Tensor], Tensor]) -> None:
    assert studied(Biased(make), 300).verdict == []


def test_what_a_short_format_does_to_far_distances_is_said() -> None:
    study = study_positions(position_config("alibi"), length=700, dtype="bf16")
    assert study.verdict == [
        "the bias of the scores loses 0.5 when rounded to bf16, and is then the same at distances 256 and 257: every "
        "device but the CPU rounds it"
    ]
    assert study_positions(position_config("alibi"), length=700).verdict == []


class Keyed(PositionEncoding):
    """Changes the keys alone, each by a factor."""

    def __init__(self, factors: Tensor) -> None:
        super().__init__()
        self.factors = factors

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        factors = self.factors[reading_order(positions)][:, None, :, None]

        class Plan(PositionPlan):
            def rotate(self, q: Tensor, k: Tensor, layer: int) -> tuple[Tensor, Tensor]:
                return q, k * factors.to(k.dtype)

        return Plan()


def test_an_encoding_that_changes_keys_alone_says_something() -> None:
    factors = torch.linspace(1, 2, 100)
    study = studied(Keyed(factors))
    assert study.verdict == []
    assert study.turned is None
    assert study.turned_key is not None
    assert study.turned_key[:, 0].tolist() == pytest.approx(factors.tolist())
    factors[9] = float("nan")
    assert studied(Keyed(factors)).verdict == ["the turned key holds NaN or infinity, first at position 9"]


class Valued(PositionEncoding):
    """Speaks to the values alone: the distance times the weight."""

    def plan(self, positions: Tensor, dtype: torch.dtype) -> PositionPlan:
        far = distances(positions)[:, None]

        class Plan(PositionPlan):
            def value_term(self, layer: int) -> ValueTerm | None:
                return lambda weights: (weights * far).sum(-1, keepdim=True).expand(*weights.shape[:3], 8)

        return Plan()


@pytest.mark.parametrize("length", [2, 7, 8])
def test_an_encoding_that_speaks_to_values_alone_says_something(length: int) -> None:
    study = studied(Valued(), length)
    assert study.verdict == []
    assert study.values is not None
    assert study.values[:, 3].tolist() == [float(d) for d in range(1 - length, length)]


def test_the_table_of_values_is_looked_at() -> None:
    shaw = ShawPosition(8, clip=4)
    assert shaw.values is not None
    study = studied(shaw, 20)
    assert study.values is not None
    assert torch.equal(study.values[[0, 19, 21]].float(), shaw.values[0, [0, 4, 6]])
    with torch.no_grad():
        shaw.values[:, 6] = float("nan")
    assert studied(shaw, 20).verdict == ["what is added to the values holds NaN or infinity, first at distance -19"]


def test_every_layer_is_looked_at() -> None:
    shaw = ShawPosition(8, clip=4, layers=3)
    with torch.no_grad():
        shaw.keys[2, 4] = float("nan")
    assert studied(shaw, 20, layers=3).verdict == [
        "in layer 2: the bias of the scores holds NaN or infinity, first in head 0 at query 0 and key 0"
    ]


@pytest.mark.parametrize("row", [1, 8])
def test_further_axes_are_looked_at(row: int) -> None:
    depth, language = DepthPosition(32), LanguagePosition(32, [f"l{n}" for n in range(90)])
    with torch.no_grad():
        depth.weight[row, 5] = float("nan")
        language.table.weight.normal_()
    study = studied(StackedPosition([SinusoidalPosition(32), depth]))
    assert study.verdict == [f"what is added along depth (axis 1) holds NaN or infinity, first at step {row}"]
    assert studied(language).notes == []
    with torch.no_grad():
        language.table.weight[89, 0] = float("inf")
    assert studied(StackedPosition([SinusoidalPosition(32), language])).verdict == [
        "what is added along language (axis 1) holds NaN or infinity, first at step 90"
    ]


def test_an_axis_shows_what_its_steps_add() -> None:
    depth = DepthPosition(32, max_depth=5, axis=2)
    (axis,) = studied(StackedPosition([SinusoidalPosition(32), depth])).axes
    assert (axis.axis, axis.name, axis.title) == (2, "depth", "depth (axis 2)")
    assert axis.changed is not None
    assert torch.allclose(axis.changed.float(), depth.weight - depth.weight[0], atol=1e-6)


@pytest.mark.parametrize("kind", ["axial", "axial_rotary"])
def test_a_grid_shows_rows_and_columns(kind: str) -> None:
    study = study_positions(position_config(kind), 64, 4, 30)
    assert [(axis.axis, axis.name) for axis in study.axes] == [(1, "axis 1"), (2, "axis 2")]
    assert study.grid is not None
    middle = study.grid.similarity[8, 8]
    assert middle == pytest.approx(1.0)
    assert middle == study.grid.similarity.max()
    frequency = 10000 ** (-2 * torch.arange(32 if kind == "axial" else 8) / (64 if kind == "axial" else 16))
    away = torch.cos(frequency[0::2] * 3).sum() + torch.cos(frequency[1::2] * 5).sum()
    assert float(study.grid.similarity[8 + 3, 8 - 5]) == pytest.approx(float(away / len(frequency)), abs=1e-5)


def test_plain_kinds_have_no_axes() -> None:
    for kind in ("sinusoidal", "learned", "rotary", "alibi", "shaw"):
        study = study_positions(position_config(kind), length=20)
        assert (study.axes, study.grid) == ((), None)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stacked"])
def test_of_one_position_nothing_false_is_said(kind: str) -> None:
    study = study_positions(position_config(kind), length=1)
    assert study.verdict == []
    assert "one position has no other to be told from: ask for 2 or more" in study.notes


def test_a_bias_of_more_than_distance_is_said_to_be_a_mean() -> None:
    study = studied(Biased(lambda d: torch.randn(d.shape, generator=torch.Generator().manual_seed(0))), 20)
    assert study.notes == ["the bias of the scores depends on more than the distance: the curves are means"]


class Loud(AdditivePosition):
    """Adds what float16 has no room for, and computes in the format that it is asked in."""

    def __init__(self) -> None:
        super().__init__(32)
        self.weight = nn.Parameter(torch.arange(100.0)[:, None] * 1000 + torch.zeros(32))

    def vectors(self, positions: Tensor) -> Tensor:
        return self.weight[reading_order(positions)]


def test_overflow_in_the_asked_format_is_named() -> None:
    assert studied(Loud()).verdict == []
    assert studied(Loud(), dtype="fp16").verdict == ["what is added overflows in fp16"]


def test_json_has_null_where_a_number_is_none_and_counts_them() -> None:
    def spoil(table: Tensor) -> Tensor:
        table[7, :3] = float("nan")
        return table

    told = studied(Altered(spoil)).to_dict()
    assert told["added"][7][:4] == [
        None,
        None,
        None,
        pytest.approx(float(SinusoidalPosition(32).vectors(torch.tensor([[7]]))[0, 0, 3])),
    ]
    assert told["not_finite"] == {"added": 3, "similarity_by_distance": 1}
    assert (told["width"], told["heads"], told["dtype"]) == (32, 4, "fp32")

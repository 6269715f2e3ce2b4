"""Sinusoidal positions: the paper's numbers, both layouts, odd widths, any position."""

from __future__ import annotations

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.position import SinusoidalPosition
from reference.positions import sinusoid


def vectors(encoding: SinusoidalPosition, *positions: int) -> torch.Tensor:
    return encoding.vectors(torch.tensor([positions]))[0]


def test_width_64_begins_with_the_known_numbers() -> None:
    one, two = vectors(SinusoidalPosition(64), 1, 2)[:, :10]
    expected_one = [0.8415, 0.5403, 0.6816, 0.7318, 0.5332, 0.8460, 0.4093, 0.9124, 0.3110, 0.9504]
    expected_two = [0.9093, -0.4161, 0.9975, 0.0709, 0.9021, 0.4315, 0.7469, 0.6649, 0.5911, 0.8066]
    assert one.tolist() == pytest.approx(expected_one, abs=5e-5)
    assert two.tolist() == pytest.approx(expected_two, abs=5e-5)


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (1, [0.841471]),
        (4, [0.841471, 0.540302, 0.010000, 0.999950]),
        (5, [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]),
    ],
)
def test_odd_widths_have_one_more_sine_than_cosines(width: int, row: list[float]) -> None:
    assert vectors(SinusoidalPosition(width), 1)[0].tolist() == pytest.approx(row, abs=5e-7)  # report B060


def test_width_127_is_whole() -> None:
    assert vectors(SinusoidalPosition(127), 0, 1)[0].tolist() == [0.0, 1.0] * 63 + [0.0]


@settings(deadline=None, max_examples=60)
@given(
    width=st.integers(1, 130),
    positions=st.lists(st.integers(0, 3000), min_size=1, max_size=5),
    layout=st.sampled_from(["interleaved", "concat"]),
    offset=st.integers(0, 3),
    base=st.sampled_from([10000.0, 100.0]),
)
def test_equals_the_formula(width: int, positions: list[int], layout: str, offset: int, base: float) -> None:
    encoding = SinusoidalPosition(width, layout=layout, base=base, offset=offset)
    expected = [sinusoid(p + offset, width, layout, base) for p in positions]
    assert torch.allclose(
        vectors(encoding, *positions), torch.tensor(expected, dtype=torch.float64), atol=1e-11, rtol=0
    )


@pytest.mark.parametrize("width", [64, 63])
def test_equals_the_tables_of_transformers(width: int) -> None:
    from transformers.models.distilbert.modeling_distilbert import _create_sinusoidal_embeddings
    from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding

    positions = torch.arange(300)[None]
    concat = RoFormerSinusoidalPositionalEmbedding(300, width)
    theirs = concat.create_weight()
    assert torch.equal(SinusoidalPosition(width, layout="concat").vectors(positions)[0].float(), theirs.detach())
    if width % 2 == 0:
        table = torch.empty(300, width)
        _create_sinusoidal_embeddings(300, width, table)
        assert torch.equal(SinusoidalPosition(width).vectors(positions)[0].float(), table)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 130), st.lists(st.integers(1, 700), min_size=2, max_size=4))
def test_rows_are_the_same_bits_however_long_the_text(width: int, lengths: list[int]) -> None:
    encoding = SinusoidalPosition(width)
    tables = [encoding.vectors(torch.arange(length)[None])[0] for length in lengths]
    shortest = min(lengths)
    for table in tables:
        assert torch.equal(table[:shortest], tables[0][:shortest])


def test_what_ran_before_changes_nothing_and_no_limit_of_length_exists() -> None:
    encoding = SinusoidalPosition(48, max_len=200)  # report B064: built for 200
    x = torch.zeros(1, 200, 48)
    before = encoding.embed(x, torch.arange(200)[None])
    for length in (201, 207, 5001):
        longer = encoding.embed(torch.zeros(1, length, 48), torch.arange(length)[None])
        assert torch.equal(longer[:, :200], before)
    assert longer[0, 206].tolist() == pytest.approx(sinusoid(206, 48), abs=1e-6)
    assert torch.equal(encoding.embed(x, torch.arange(200)[None]), before)
    assert not encoding.state_dict(), "no table that could stop a checkpoint from loading"


@pytest.mark.parametrize("position", [5001, 100_000, 1_000_000])
def test_far_positions_are_exact(position: int) -> None:
    for dtype, tolerance in ((torch.float32, 1e-7), (torch.bfloat16, 4e-3)):
        row = SinusoidalPosition(64).embed(torch.zeros(1, 1, 64, dtype=dtype), torch.tensor([[position]]))
        assert row.dtype == dtype
        assert row[0, 0].float().tolist() == pytest.approx(sinusoid(position, 64), abs=tolerance)


def test_a_shift_of_positions_is_a_rotation() -> None:
    width, shift = 32, 11
    table = SinusoidalPosition(width).vectors(torch.arange(100)[None])[0]
    assert torch.allclose((table**2).sum(-1), torch.full((100,), width / 2, dtype=torch.float64))
    for i in range(width // 2):
        angle = shift / 10000 ** (2 * i / width)
        turned = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]).double()
        pair = table[:, 2 * i : 2 * i + 2]
        assert torch.allclose(pair[:-shift] @ turned.T, pair[shift:], atol=1e-7)


def test_scale_multiplies_the_embedding_by_the_root_of_the_width() -> None:
    x = torch.randn(2, 3, 16)
    positions = torch.arange(3)[None]
    plain, scaled = SinusoidalPosition(16), SinusoidalPosition(16, scale=True)
    assert torch.allclose(scaled.embed(x, positions), 4 * x + plain.embed(torch.zeros_like(x), positions))


def test_past_max_len_an_error_where_asked_for() -> None:
    encoding = SinusoidalPosition(8, max_len=10, past_max_len="error")
    assert encoding.max_tokens == 10
    assert encoding.embed(torch.zeros(1, 10, 8), torch.arange(10)[None]).shape == (1, 10, 8)
    message = (
        "`positions` must be in [0, 10), the limit of this position encoding, but reach from 0 to 10 instead. Cut the "
        "text into chunks of at most 10 tokens, or extend the encoding."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        encoding.embed(torch.zeros(1, 11, 8), torch.arange(11)[None])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "`width` must be at least 1, but is 0 instead."),
        ({"width": 4, "layout": "halves"}, "`layout` must be `interleaved` or `concat`, but is 'halves' instead."),
        ({"width": 4, "base": 0.0}, "`base` must be in [1, 1e+18], but is 0 instead."),
        ({"width": 4, "base": float("nan")}, "`base` must be in [1, 1e+18], but is nan instead."),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        SinusoidalPosition(**arguments)

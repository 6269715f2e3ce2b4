"""ALiBi: the slopes of any number of heads, and a bias that looks both ways."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.position import AlibiPosition, Geometry
from longdoc.nn.position.alibi import AlibiConfig, alibi_slopes
from reference.distances import alibi_slopes_slowly, alibi_slowly


def bias_of(encoding: AlibiPosition, positions: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    plan = encoding.plan(positions, dtype)
    bias = plan.bias(torch.zeros(1, encoding.heads, positions.shape[-1], 4, dtype=dtype), 0)
    assert bias is not None
    return bias


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [  # reports B053 and B054
        (1, [0.00390625]),
        (2, [0.0625, 0.00390625]),
        (3, [0.0625, 0.00390625, 0.25]),
        (4, [0.25, 0.0625, 0.015625, 0.00390625]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
    ],
)
def test_slopes_of_few_heads(heads: int, slopes: list[float]) -> None:
    assert alibi_slopes(heads) == slopes


def test_slopes_of_twelve_heads_are_those_of_eight_and_four_between() -> None:
    assert alibi_slopes(12)[:8] == alibi_slopes(8)
    assert alibi_slopes(12)[8:] == pytest.approx([0.70710678, 0.35355339, 0.1767767, 0.08838835])


@pytest.mark.parametrize("heads", range(1, 41))
def test_slopes_are_those_of_the_authors_all_different_and_none_is_1(heads: int) -> None:
    slopes = alibi_slopes(heads)
    assert slopes == pytest.approx(alibi_slopes_slowly(heads), rel=1e-12)
    assert len(set(slopes)) == heads
    assert all(0 < slope < 1 for slope in slopes)


@pytest.mark.parametrize("heads", [6, 8, 12, 16, 20])
def test_slopes_are_those_of_bloom_and_mpt(heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    ours = torch.tensor(alibi_slopes(heads))
    bloom = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)  # slope * key index
    assert torch.allclose(bloom[:, 0, 1], ours, atol=1e-7)
    mpt = build_mpt_alibi_tensor(heads, 2)  # slope * (key index - last)
    assert torch.allclose(-mpt[..., 0].flatten(), ours, atol=1e-7)


@settings(deadline=None, max_examples=40)
@given(heads=st.integers(1, 9), positions=st.lists(st.integers(0, 4000), min_size=1, max_size=6))
def test_equals_the_loop(heads: int, positions: list[int]) -> None:
    bias = bias_of(AlibiPosition(heads), torch.tensor([positions]))
    assert bias.shape == (1, heads, len(positions), len(positions))
    assert torch.allclose(bias[0], torch.tensor(alibi_slowly(positions, heads)), rtol=1e-6)


def test_keys_on_both_sides_lose_alike() -> None:
    bias = bias_of(AlibiPosition(4), torch.arange(50)[None])
    assert torch.equal(bias, bias.transpose(-1, -2))
    assert (bias <= 0).all()
    assert (bias.diagonal(dim1=-2, dim2=-1) == 0).all()
    assert torch.equal(bias.flip(-1, -2), bias), "reading backwards changes nothing"


def test_only_the_distance_matters() -> None:
    near, far = torch.arange(7)[None], torch.arange(100_000, 100_007)[None]
    assert torch.equal(bias_of(AlibiPosition(3), near), bias_of(AlibiPosition(3), far))


def test_sixteen_bits_do_not_blur_distances() -> None:
    bias = bias_of(AlibiPosition(2), torch.arange(1500)[None], torch.bfloat16)
    assert bias.dtype == torch.float32
    assert len(bias[0, 0, 0].unique()) == 1500


def test_the_configuration_takes_the_heads_of_the_encoder() -> None:
    assert AlibiConfig().build(Geometry(width=24, heads=3, head_width=8, layers=1, max_len=9)).heads == 3
    message = "`heads` must be at least 1, but is 0 instead."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        AlibiPosition(0)

"""Rotary positions: only distance matters, the layout is a field, angles are float32."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, RotaryConfig, RotaryPosition
from reference.positions import turn


def rotate(encoding: RotaryPosition, q: torch.Tensor, positions: list[int]) -> torch.Tensor:
    """(L, Dh) at these positions."""
    plan = encoding.plan(torch.tensor([positions]), q.dtype)
    turned, _ = plan.rotate(q[None, None], q[None, None], 0)
    return turned[0, 0]


@settings(deadline=None, max_examples=60)
@given(
    half=st.integers(1, 16),
    layout=st.sampled_from(["half", "interleaved"]),
    theta=st.sampled_from([10000.0, 160000.0, 50.0]),
    rest=st.integers(0, 3),
    positions=st.lists(st.integers(0, 600), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_equals_complex_multiplication(
    half: int, layout: str, theta: float, rest: int, positions: list[int], seed: int
) -> None:
    turned, width = 2 * half, 2 * half + 2 * rest
    encoding = RotaryPosition(width, layout, theta, turned / width)
    x = torch.randn(len(positions), width, generator=torch.Generator().manual_seed(seed))
    expected = [turn(row.tolist(), p, layout, theta, turned) for row, p in zip(x, positions, strict=True)]
    assert torch.allclose(rotate(encoding, x, positions), torch.tensor(expected), atol=3e-4)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_only_the_distance_matters(layout: str) -> None:
    generator = torch.Generator().manual_seed(0)  # report B051
    q, k = torch.randn(8, generator=generator), torch.randn(8, generator=generator)
    encoding = RotaryPosition(8, layout)

    def score(i: int, j: int) -> float:
        return float(rotate(encoding, q[None], [i])[0] @ rotate(encoding, k[None], [j])[0])

    assert score(10, 8) == pytest.approx(score(3, 1), abs=1e-4)
    assert score(503, 501) == pytest.approx(score(3, 1), abs=1e-4)
    assert rotate(encoding, q[None], [77]).norm().item() == pytest.approx(q.norm().item(), rel=1e-6)
    assert torch.equal(rotate(encoding, q[None], [0])[0], q)


def test_the_two_layouts_turn_different_pairs() -> None:
    half = rotate(RotaryPosition(4, "half"), torch.tensor([[1.0, 1.0, 0.0, 0.0]]), [1])[0]
    assert half.tolist() == pytest.approx([0.5403, 0.99995, 0.8415, 0.0100], abs=5e-5)
    interleaved = rotate(RotaryPosition(4, "interleaved"), torch.tensor([[1.0, 0.0, 1.0, 0.0]]), [1])[0]
    assert interleaved.tolist() == pytest.approx([0.5403, 0.8415, 0.99995, 0.0100], abs=5e-5)


def test_a_partly_turned_head_runs_its_exponent_over_the_turned_part() -> None:
    encoding = RotaryPosition(8, partial_rotary_factor=0.5)  # report B052
    assert encoding.frequencies().tolist() == pytest.approx([1.0, 0.01])
    x = torch.randn(2, 8)
    out = rotate(encoding, x, [1, 100])
    assert torch.equal(out[:, 4:], x[:, 4:])
    assert not torch.allclose(out[:, :4], x[:, :4])


def test_angles_stay_float32_in_a_bfloat16_model() -> None:
    encoding = RotaryPosition(64).to(torch.bfloat16)  # report B049
    positions = torch.arange(4096)[None]
    angles = torch.arange(4096).double()[:, None] * RotaryPosition(64).frequencies().double()
    exact = torch.cat([angles.cos(), angles.sin()], -1)
    units = torch.cat([torch.ones(4096, 32), torch.zeros(4096, 32)], -1).bfloat16()  # turned: cosines, then sines
    with torch.autocast("cpu", dtype=torch.bfloat16):
        autocast = encoding.plan(positions, torch.bfloat16)
    for plan in (encoding.plan(positions, torch.bfloat16), autocast):
        turned = plan.rotate(units[None, None], units[None, None], 0)[0][0, 0]
        assert turned.dtype == torch.bfloat16
        assert (turned.double() - exact).abs().max() <= 0.004
        assert turned[257, 0].item() == pytest.approx(0.8193, abs=4e-3)
        assert turned[4095, 0].item() == pytest.approx(-0.0660, abs=4e-3)
    q, k = torch.randn(2, 64, generator=torch.Generator().manual_seed(1)).bfloat16()

    def score(i: int, j: int) -> float:
        return float(rotate(encoding, q[None], [i])[0].float() @ rotate(encoding, k[None], [j])[0].float()) / 8

    assert score(257, 256) == pytest.approx(score(1, 0), abs=2e-2)
    assert rotate(encoding, q[None], [3]).dtype == torch.bfloat16


@pytest.mark.parametrize("length", [300, 5001])
def test_equals_llama_and_gptj_in_transformers(length: int) -> None:
    from transformers import LlamaConfig
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as turn_interleaved
    from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(hidden_size=64, num_attention_heads=2, max_position_embeddings=length)
    q, k = torch.randn(2, 1, 2, length, 32)
    positions = torch.arange(length)[None]
    cosines, sines = LlamaRotaryEmbedding(config)(q, positions)
    ours = RotaryPosition(32).plan(positions, q.dtype).rotate(q, k, 0)
    for mine, theirs in zip(ours, apply_rotary_pos_emb(q, k, cosines, sines), strict=True):
        assert torch.equal(mine, theirs)

    table = create_sinusoidal_positions(length, 32)[None]
    sin, cos = table.chunk(2, -1)
    theirs = turn_interleaved(q.transpose(1, 2), sin, cos).transpose(1, 2)
    ours = RotaryPosition(32, "interleaved").plan(positions, q.dtype).rotate(q, k, 0)[0]
    assert torch.allclose(ours, theirs, atol=2e-6 * length)


def test_any_position_without_a_table() -> None:
    encoding = RotaryPosition(16)
    far = rotate(encoding, torch.ones(2, 16), [5001, 1_000_000])
    assert far.isfinite().all()
    assert far.norm(dim=-1).tolist() == pytest.approx([4.0, 4.0], rel=1e-5)
    assert not list(encoding.buffers())
    assert encoding.max_tokens is None


def test_past_max_len_an_error_where_asked_for() -> None:
    encoding = RotaryPosition(8, max_len=10, past_max_len="error")
    encoding.plan(torch.arange(10)[None], torch.float32)
    with pytest.raises(UsageError, match=r"^`positions` must be in \[0, 10\), the limit of this position encoding"):
        encoding.plan(torch.arange(11)[None], torch.float32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "pairs"}, "`layout` must be `half` or `interleaved`, but is 'pairs' instead."),
        ({"theta": 0.0}, "`theta` must be in [1, 1e+18], but is 0 instead."),
        (
            {"partial_rotary_factor": 0.4},
            "`partial_rotary_factor` must leave an even number of components to turn, at least 2 and at most 8, the "
            "width of a head, but 0.4 leaves 3 instead.",
        ),
    ],
)
def test_impossible_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        RotaryPosition(8, **arguments)


def test_the_configuration_turns_one_head() -> None:
    geometry = Geometry(width=64, heads=4, head_width=16, layers=1, max_len=512)
    assert RotaryConfig().build(geometry).width == 16

"""Positions on several axes: grids of patches, and text that stays one-dimensional."""

from __future__ import annotations

import re

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.position import (
    AxialPosition,
    AxialRotaryPosition,
    Geometry,
    RotaryPosition,
    SinusoidalPosition,
    stack_axes,
)
from longdoc.nn.position.axial import AxialConfig
from longdoc.nn.position.axial_rotary import AxialRotaryConfig
from reference.positions import sinusoid, turn


def grid(rows: int, columns: int) -> torch.Tensor:
    """Row-major patches: positions (3, 1, rows * columns)."""
    row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    return stack_axes(torch.arange(rows * columns)[None], row.reshape(1, -1), column.reshape(1, -1))


def added(encoding: AxialPosition | SinusoidalPosition, positions: torch.Tensor) -> torch.Tensor:
    return encoding.embed(torch.zeros(1, positions.shape[-1], encoding.width, dtype=torch.float64), positions)[0]


def turned(encoding: AxialRotaryPosition | RotaryPosition, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    return encoding.plan(positions, x.dtype).rotate(x, x, 0)[0]


@pytest.mark.parametrize("axes", [(1, 2), (2, 1)])
def test_blocks_equal_the_table_of_vision_transformers(axes: tuple[int, int]) -> None:
    from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding

    theirs = build_2d_sinusoidal_position_embedding(4, 6, 32, dtype=torch.float64)
    ours = added(AxialPosition(32, axes, "blocks"), grid(4, 6))
    if axes == (2, 1):  # the column first, as in the original code of MAE
        ours = torch.cat([ours[:, 16:], ours[:, :16]], -1)
    assert torch.allclose(ours, theirs.double(), atol=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "concat"])
def test_alternating_pairs_take_turns(layout: str) -> None:
    out = added(AxialPosition(12, (1, 2), layout=layout), stack_axes(*torch.tensor([[[0]], [[5]], [[90]]])))[0]
    row, column = sinusoid(5, 12, layout), sinusoid(90, 12, layout)
    pair = [c // 2 if layout == "interleaved" else c % 6 for c in range(12)]
    expected = [(row, column)[pair[c] % 2][c] for c in range(12)]
    assert out.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("axes", [(1, 2), (0, 1, 2)])
@pytest.mark.parametrize(("width", "layout"), [(12, "interleaved"), (12, "concat"), (13, "concat"), (7, "interleaved")])
def test_text_is_exactly_one_dimensional(width: int, layout: str, axes: tuple[int, ...]) -> None:
    order = torch.tensor([[0, 1, 2, 77, 5000]])
    encoding, plain = AxialPosition(width, axes, layout=layout), SinusoidalPosition(width, layout)
    assert torch.equal(added(encoding, order), added(plain, order))
    assert torch.equal(added(encoding, stack_axes(order, order, order)), added(plain, order))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("axes", "sections"), [((1, 2), None), ((1, 2), (1, 3)), ((0, 1, 2), (2, 1, 1))])
def test_turned_text_is_exactly_one_dimensional(
    layout: str, axes: tuple[int, ...], sections: tuple[int, ...] | None
) -> None:
    order, x = torch.tensor([[0, 1, 2, 77, 5000]]), torch.randn(2, 3, 5, 8)
    encoding = AxialRotaryPosition(8, axes, sections, layout)
    plain = turned(RotaryPosition(8, layout), x, order)
    assert torch.equal(turned(encoding, x, order), plain)
    assert torch.equal(turned(encoding, x, stack_axes(order, order, order)), plain)


@pytest.mark.parametrize(("sections", "axis_of_pair"), [(None, [1, 2, 1, 2]), ((3, 1), [1, 1, 1, 2])])
def test_each_pair_is_turned_by_its_axis(sections: tuple[int, int] | None, axis_of_pair: list[int]) -> None:
    x = torch.randn(8, generator=torch.Generator().manual_seed(0)).double()
    positions = stack_axes(*torch.tensor([[[40]], [[3]], [[17]]]))
    ours = turned(AxialRotaryPosition(8, sections=sections), x[None, None, None], positions)[0, 0, 0]
    by_axis = {1: turn(x.tolist(), 3, "half", 10000.0, 8), 2: turn(x.tolist(), 17, "half", 10000.0, 8)}
    expected = [by_axis[axis_of_pair[c % 4]][c] for c in range(8)]
    assert ours.tolist() == pytest.approx(expected, abs=1e-5)


def test_sections_equal_the_rotary_positions_of_qwen2_vl() -> None:
    from transformers import Qwen2VLTextConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding, apply_rotary_pos_emb

    positions, sections = torch.randint(0, 50, (3, 2, 7)), [2, 3, 3]
    q, k = torch.randn(2, 2, 4, 7, 16)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": sections}
    config = Qwen2VLTextConfig(hidden_size=32, num_attention_heads=2, rope_parameters=rope)
    theirs = apply_rotary_pos_emb(q, k, *Qwen2VLRotaryEmbedding(config)(q, positions))
    plan = AxialRotaryPosition(16, (0, 1, 2), sections).plan(positions, torch.float32)
    for ours, expected in zip(plan.rotate(q, k, 0), theirs, strict=True):
        assert torch.allclose(ours, expected, atol=1e-6)


def test_only_distances_along_each_axis_matter() -> None:
    encoding, x = AxialRotaryPosition(8), torch.randn(2, 1, 1, 6, 8).double()
    positions = grid(2, 3)
    moved = positions + torch.tensor([100, 30, 500])[:, None, None]

    def scores(at: torch.Tensor) -> torch.Tensor:
        q, k = encoding.plan(at, torch.float64).rotate(x[0], x[1], 0)
        return q @ k.transpose(-1, -2)

    assert torch.allclose(scores(moved), scores(positions), rtol=1e-4, atol=1e-4)


def test_the_configurations_take_the_widths_of_the_encoder() -> None:
    geometry = Geometry(width=24, heads=3, head_width=8, layers=1, max_len=9)
    assert AxialConfig(split="blocks").build(geometry).width == 24
    assert AxialRotaryConfig(sections=(1, 3)).build(geometry).axis_of_pair == (0, 1, 1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: AxialPosition(6, split="blocks"),
            "`width` must be a multiple of 4, a sine and a cosine for each axis, but is 6 instead.",
        ),
        (lambda: AxialPosition(8, split="rows"), "`split` must be `alternate` or `blocks`, but is 'rows' instead."),
        (lambda: AxialPosition(8, axes=()), "`axes` must be numbers of axes, 0 or more, but is () instead."),
        (
            lambda: AxialRotaryPosition(8, axes=(-1,)),
            "`axes` must be numbers of axes, 0 or more, but is (-1,) instead.",
        ),
        (lambda: AxialRotaryPosition(7), "`width` must be even and at least 2, but is 7 instead."),
        (
            lambda: AxialRotaryPosition(8, sections=(1, 2)),
            "`sections` must be 2 numbers, one for each axis, that add up to 4, half the width of a head, but are "
            "(1, 2) instead.",
        ),
    ],
)
def test_impossible_settings_are_refused(make, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        make()

"""Faults that tutorials on position encodings and attention pass on, each with the value that is right."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn import Encoder
from longdoc.nn.attend import attend
from longdoc.nn.dropout import Dropout
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import (
    AlibiPosition,
    LearnedPosition,
    RotaryPosition,
    SinusoidalPosition,
    WeightedPosition,
)
from longdoc.nn.position.counting import count_positions
from nn_kit import padded, some_ids, tiny_config, tiny_encoder
from reference.positions import sinusoid


def rows(encoding: SinusoidalPosition | WeightedPosition, positions: list[int]) -> Tensor:
    """What is added at these positions, (L, D)."""
    x = torch.zeros(1, len(positions), encoding.width)
    return encoding.embed(x, torch.tensor([positions]))[0]


def test_01_an_odd_width_drops_the_last_cosine() -> None:
    row = rows(SinusoidalPosition(5), [1])[0]
    assert row.tolist() == pytest.approx([0.841471, 0.540302, 0.025116, 0.999685, 0.000631], abs=1e-6)


def test_02_a_state_from_another_max_len_loads() -> None:
    short = tiny_encoder(position={"kind": "sinusoidal", "max_len": 100})
    long = Encoder(tiny_config(position={"kind": "sinusoidal", "max_len": 1000})).eval()
    assert not [key for key in short.state_dict() if key.startswith("position")]
    long.load_state_dict(short.state_dict())
    ids = torch.tensor([some_ids(40)])
    assert torch.equal(long(ids), short(ids))


def test_03_the_first_text_past_max_len_runs_like_any_other() -> None:
    encoding = SinusoidalPosition(8, max_len=100)
    rows(encoding, list(range(100)))
    assert rows(encoding, list(range(150)))[149].tolist() == pytest.approx(sinusoid(149, 8), abs=1e-6)


def test_04_scores_keep_four_axes() -> None:
    q, k, v = torch.randn(3, 3, 4, 5, 8)
    mask = AttentionMask.from_masked(torch.zeros(3, 1, 1, 5, dtype=torch.bool))
    assert mask.allowed.shape == (3, 1, 1, 5)
    assert attend(q, k, v, mask).shape == (3, 4, 5, 8)
    with pytest.raises(ValueError, match=re.escape("but has shape (3, 1, 1, 1, 5) instead.")):
        AttentionMask(mask.allowed[:, None])
    with pytest.raises(ValueError, match=r"^`mask` must be an AttentionMask or None, but is Tensor instead\."):
        attend(q, k, v, mask.allowed)


def test_05_a_query_that_may_see_nothing_gives_exactly_0() -> None:
    q, k, v = (torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3))
    nothing = AttentionMask.padding(torch.tensor([[False] * 3]))
    for dropout in (0.0, 0.1):
        out = attend(q, k, v, nothing, dropout=dropout)
        assert (out == 0).all()
        out.sum().backward()
    assert all((x.grad == 0).all() for x in (q, k, v))


def test_06_padding_poisons_no_token_of_a_later_layer() -> None:
    encoder = tiny_encoder(layers=3)
    text = some_ids(4)
    ids, valid = padded([text], 9, "left", pad_id=49)
    assert 49 not in text
    alone = encoder(torch.tensor([text]))[0]
    with torch.no_grad():
        encoder.word.weight[49] = math.nan
    assert torch.allclose(encoder(ids, valid)[valid], alone, atol=1e-6)


def test_07_both_conventions_of_a_mask_are_named_and_never_guessed() -> None:
    valid = torch.tensor([[True, True, False]])
    values = torch.tensor([[1.0], [2.0], [99.0]])[None, None]
    silent = torch.zeros(1, 1, 3, 1)
    expected = [1.5, 1.5, 1.5]
    assert attend(silent, silent, values, AttentionMask.padding(valid)).flatten().tolist() == expected
    masked = ~valid[:, None, None]
    assert attend(silent, silent, values, AttentionMask.from_masked(masked)).flatten().tolist() == expected
    with pytest.raises(UsageError):  # ~1 = -2 is true, as is every other number of an inverted mask of integers
        AttentionMask(~valid.long()[:, None, None])


def test_08_weights_of_positions_lie_along_positions_also_where_length_equals_width() -> None:
    encoding = WeightedPosition(4, max_len=4)
    with torch.no_grad():
        encoding.weight.copy_(torch.tensor([1.0, 10.0, 100.0, 1000.0]).reshape(1, 4, 1))
    for position, row in enumerate(rows(encoding, [0, 1, 2, 3])):
        assert row.tolist() == pytest.approx([10**position * x for x in sinusoid(position, 4)], rel=1e-5)


def test_09_embeddings_are_dropped_out_once() -> None:
    encoder = Encoder(tiny_config(position={"kind": "sinusoidal"}, dropout=0.1, max_len=64)).train()
    assert not [m for m in encoder.position.modules() if isinstance(m, Dropout | torch.nn.Dropout)]
    seen: list[Tensor] = []
    encoder.layers[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    torch.manual_seed(0)
    encoder(torch.randint(1, 50, (32, 64)))
    assert (seen[0] == 0).float().mean().item() == pytest.approx(0.1, abs=0.01), "0.19 where it is done twice"


@pytest.mark.parametrize("built_for", [1, 10])
def test_10_a_text_past_max_len_gets_the_formula_not_a_slice(built_for: int) -> None:
    table = rows(SinusoidalPosition(6, max_len=built_for), list(range(12)))
    assert table.shape == (12, 6)
    assert table[11].tolist() == pytest.approx(sinusoid(11, 6), abs=1e-6)
    assert len({tuple(row.tolist()) for row in table}) == 12, "one row of a table would broadcast"


def test_11_what_is_added_follows_the_dtype_and_the_device_of_the_embeddings() -> None:
    encoding = SinusoidalPosition(6)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        assert encoding.embed(torch.zeros(1, 3, 6, dtype=dtype), torch.arange(3)[None]).dtype == dtype
    assert encoding.embed(torch.zeros(1, 3, 6, device="meta"), torch.arange(3, device="meta")[None]).is_meta


@pytest.mark.parametrize(
    ("position", "dtype", "tolerance"), [(100_000, torch.float32, 1e-6), (512, torch.bfloat16, 4e-3)]
)
def test_12_angles_are_finer_than_activations(position: int, dtype: torch.dtype, tolerance: float) -> None:
    x = torch.zeros(1, 1, 64, dtype=dtype)
    row = SinusoidalPosition(64).embed(x, torch.tensor([[position]]))[0, 0].float()
    assert row.tolist() == pytest.approx(sinusoid(position, 64), abs=tolerance)


@pytest.mark.parametrize("rows_in_batch", [1, 3])
def test_13_embeddings_with_the_length_first_are_refused(rows_in_batch: int) -> None:
    message = (
        "`x` must have shape (N, 7, 8), rows first, one token for each position, but has shape "
        f"(7, {rows_in_batch}, 8) instead."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        SinusoidalPosition(8).embed(torch.zeros(7, rows_in_batch, 8), torch.arange(7)[None])


def test_14_rotary_positions_are_integers_and_257_is_not_256() -> None:
    encoding = RotaryPosition(2)
    with pytest.raises(UsageError, match=r"^`positions` must be integers, but are torch\.bfloat16 instead"):
        encoding.plan(torch.arange(300, dtype=torch.bfloat16)[None], torch.bfloat16)
    unit = torch.tensor([1.0, 0.0], dtype=torch.bfloat16)[None, None, None]
    turned, _ = encoding.plan(torch.tensor([[257]]), torch.bfloat16).rotate(unit, unit, 0)
    assert turned.flatten().tolist() == pytest.approx([math.cos(257), math.sin(257)], abs=4e-3)
    assert math.cos(257) == pytest.approx(0.8193, abs=1e-4)


def test_15_a_bias_by_distance_counts_both_sides() -> None:
    bias = AlibiPosition(1).plan(torch.arange(4)[None], torch.float32).bias(torch.zeros(1, 1, 4, 2), 0)
    assert bias is not None
    slope = 2.0**-8
    assert (bias[0, 0] / -slope).tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]


def test_16_positions_are_counted_from_the_mask_not_from_the_padded_length() -> None:
    encoding = LearnedPosition(1, rows=12, offset=2)
    with torch.no_grad():
        encoding.weight.copy_(torch.arange(12.0)[:, None])
    valid = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]).bool()
    positions = count_positions(valid.long(), valid, None).clamp(min=0)
    added = encoding.embed(torch.zeros(2, 6, 1), positions)[..., 0]
    assert added[valid].tolist() == [2.0, 3.0, 4.0, 2.0, 3.0, 4.0]

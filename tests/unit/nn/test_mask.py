"""Masks: each rule pair by pair, both conventions, and what is refused."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.mask import AttentionMask
from reference import masks as slowly


def rows_of(mask: AttentionMask, length: int) -> list[int]:
    """Allowed keys of each query of the first row."""
    assert mask.allowed is not None
    return mask.allowed.expand(-1, 1, length, length)[0, 0].sum(-1).tolist()


def test_a_window_counts_the_token_itself_and_both_ends() -> None:
    positions = torch.arange(6)[None]  # report B044
    causal_of_three = AttentionMask.sliding_window(positions, 2) & AttentionMask.causal(positions)
    assert rows_of(causal_of_three, 6) == [1, 2, 3, 3, 3, 3]
    assert rows_of(AttentionMask.sliding_window(positions, 1), 6) == [2, 3, 3, 3, 3, 2]
    assert rows_of(AttentionMask.sliding_window(positions, 2), 6) == [3, 4, 5, 5, 4, 3]


def test_packed_texts_do_not_see_each_other() -> None:
    segments, positions = torch.tensor([[0, 0, 0, 1, 1]]), torch.tensor([[0, 1, 2, 0, 1]])  # report B045
    blocks = AttentionMask.blocks(segments)
    assert sum(rows_of(blocks, 5)) == 13
    assert sum(rows_of(blocks & AttentionMask.causal(positions), 5)) == 9


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_small_integers_do_not_wrap_around(dtype: torch.dtype) -> None:
    order = torch.arange(100)[None]
    for radius in (2, 150):
        expected = AttentionMask.sliding_window(order, radius).allowed
        found = AttentionMask.sliding_window(order.to(dtype), radius).allowed
        assert torch.equal(found, expected)
    assert torch.equal(AttentionMask.causal(order.to(dtype)).allowed, AttentionMask.causal(order).allowed)


def test_padding_and_causal_hold_together() -> None:
    valid = torch.tensor([[False, False, True, True, True]])  # report B046
    mask = AttentionMask.padding(valid) & AttentionMask.causal(torch.arange(5)[None])
    assert rows_of(mask, 5) == [0, 0, 1, 2, 3]


@st.composite
def mask_inputs(draw: st.DrawFn) -> dict:
    rows, length = draw(st.integers(1, 3)), draw(st.integers(1, 7))

    def table(values: st.SearchStrategy) -> list:
        return draw(st.lists(st.lists(values, min_size=length, max_size=length), min_size=rows, max_size=rows))

    return {
        "length": length,
        "valid": table(st.booleans()),
        "positions": table(st.integers(0, 9)),
        "segments": table(st.integers(0, 2)),
        "global": table(st.booleans()),
        "radius": draw(st.integers(0, 4)),
    }


@settings(deadline=None, max_examples=60)
@given(mask_inputs())
def test_every_rule_and_their_combination_equal_the_loops(inputs: dict) -> None:
    positions, segments = torch.tensor(inputs["positions"]), torch.tensor(inputs["segments"])
    radius = inputs["radius"]
    fast = {
        "padding": AttentionMask.padding(torch.tensor(inputs["valid"])),
        "causal": AttentionMask.causal(positions),
        "window": AttentionMask.sliding_window(positions, radius),
        "blocks": AttentionMask.blocks(segments),
        "globals": AttentionMask.globals_(torch.tensor(inputs["global"])),
    }
    slow = {
        "padding": slowly.padding(inputs["valid"]),
        "causal": slowly.causal(inputs["positions"]),
        "window": slowly.sliding_window(inputs["positions"], radius),
        "blocks": slowly.blocks(inputs["segments"]),
        "globals": slowly.globals_(inputs["global"]),
    }
    for name, mask in fast.items():
        assert torch.equal(mask.allowed[:, 0].expand_as(slow[name]), slow[name]), name
    combined = fast["padding"] & (fast["window"] | fast["globals"]) & fast["blocks"] & fast["causal"]
    expected = slow["padding"] & (slow["window"] | slow["globals"]) & slow["blocks"] & slow["causal"]
    assert torch.equal(combined.allowed[:, 0], expected)
    assert torch.equal(combined.answerable[:, 0, :, 0], expected.any(-1))
    everything_for_the_lost = expected | ~expected.any(-1, keepdim=True)
    assert torch.equal(combined.for_kernel[:, 0], everything_for_the_lost)
    assert torch.equal(AttentionMask.from_masked(~combined.allowed).allowed, combined.allowed)


def test_everything_is_neutral_for_and_and_absorbs_for_or() -> None:
    some, everything = AttentionMask.causal(torch.arange(3)[None]), AttentionMask()
    assert (some & everything) is some
    assert (everything & some) is some
    assert (everything & everything).allowed is None
    assert (some | everything).allowed is None
    assert (everything | some).allowed is None
    assert everything.additive(torch.float32) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_additive_is_the_lowest_number_of_the_dtype(dtype: torch.dtype) -> None:
    additive = AttentionMask.padding(torch.tensor([[True, False]])).additive(dtype)
    assert additive.dtype == dtype
    assert additive.flatten().tolist() == [0.0, torch.finfo(dtype).min]
    assert additive.isfinite().all()


def test_scores_are_made_once() -> None:
    mask = AttentionMask.padding(torch.tensor([[True, False]]))
    assert mask.scores(torch.float32) is mask.scores(torch.float32)
    assert mask.scores(torch.float32).flatten().tolist() == [0.0, -float("inf")]
    assert mask.scores(torch.float64).dtype == torch.float64


@pytest.mark.parametrize("shape", [(2, 1, 1, 4), (1, 4, 4), (2, 1, 4, 4), (1, 1, 1, 4), (1, 1, 4, 4)])
def test_from_masked_reads_the_shapes_of_the_other_convention(shape: tuple[int, ...]) -> None:
    masked = torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.5
    for given_mask in (masked, masked.long(), masked.float(), torch.zeros(shape).masked_fill(masked, -1e4),
                       torch.zeros(shape).masked_fill(masked, -float("inf"))):  # fmt: skip
        allowed = AttentionMask.from_masked(given_mask).allowed
        assert allowed.dtype == torch.bool
        assert allowed.ndim == 4
        assert torch.equal(allowed.reshape(shape), ~masked)


@pytest.mark.parametrize(
    "shape", [(4,), (2, 4), (4, 4), (2, 4, 4), (1, 3, 4), (2, 3, 4, 4), (2, 1, 3, 4), (2, 2, 1, 4), (1, 2, 1, 1, 4), ()]
)
def test_from_masked_refuses_shapes_that_could_mean_something_else(shape: tuple[int, ...]) -> None:
    message = f"`mask` must have shape (N, 1, 1, L), (1, L, L) or (N, 1, L, L), but has shape {shape} instead."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        AttentionMask.from_masked(torch.zeros(shape, dtype=torch.bool))


@pytest.mark.parametrize("values", [[0.0, 0.5], [0.0, -1.5], [0, 2], [0, -1], [0.0, float("nan")]])
def test_from_masked_refuses_numbers_that_are_a_bias(values: list[float]) -> None:
    message = (
        "`mask` must hold 0 and 1 (1 = masked), or 0 and values of -10000 or less where it is additive, but holds "
        "other values. What is added to scores is a bias: pass it as `bias` to `attend`."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        AttentionMask.from_masked(torch.tensor(values)[None, None, None])


def test_a_tokenizers_attention_mask_of_integers_is_taken() -> None:
    assert AttentionMask.padding(torch.tensor([[1, 1, 0]])).allowed.flatten().tolist() == [True, True, False]
    assert AttentionMask.padding(torch.tensor([[1.0, 0.0]])).allowed.flatten().tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: AttentionMask(torch.ones(1, 1, 2, 2)),
            "`allowed` must be bool, True = may attend, but is torch.float32 instead. For a mask in which 1 means "
            "masked, call `AttentionMask.from_masked`.",
        ),
        (
            lambda: AttentionMask(torch.ones(1, 1, 1, 2, 2, dtype=torch.bool)),
            "`allowed` must have the four axes (rows, heads, queries, keys), but has shape (1, 1, 1, 2, 2) instead.",
        ),
        (
            lambda: AttentionMask.padding(torch.tensor([[2, 1]])),
            "`valid` must be bool or hold only 0 and 1, but holds other values.",
        ),
        (
            lambda: AttentionMask.padding(torch.ones(1, 1, 1, 3)),
            "`valid` must have shape (N, L), but has shape (1, 1, 1, 3) instead.",
        ),
        (
            lambda: AttentionMask.causal(torch.arange(3)),
            "`positions` must have shape (N, L), but has shape (3,) instead.",
        ),
        (
            lambda: AttentionMask.sliding_window(torch.arange(3)[None], -1),
            "`radius` must be a whole number in [0, 2147483648], but is -1 instead.",
        ),
        (
            lambda: AttentionMask.sliding_window(torch.arange(3)[None], 1.5),
            "`radius` must be a whole number in [0, 2147483648], but is 1.5 instead.",
        ),
        (
            lambda: AttentionMask.sliding_window(torch.arange(300)[None].bfloat16(), 1),
            "`positions` must be integers, but are torch.bfloat16 instead.",
        ),
        (
            lambda: AttentionMask.causal(torch.arange(3)[None].float()),
            "`positions` must be integers, but are torch.float32 instead.",
        ),
        (
            lambda: AttentionMask.blocks(torch.zeros(1, 3)),
            "`segments` must be integers, but are torch.float32 instead.",
        ),
        (
            lambda: AttentionMask.causal(torch.arange(3)[None]) & AttentionMask.causal(torch.arange(4)[None]),
            "masks that are combined must be of rows of one shape, but are of (1, 1, 3, 3) and (1, 1, 4, 4). Make both "
            "for the same batch.",
        ),
        (
            lambda: AttentionMask.sliding_window(torch.arange(3)[None], 10**22),
            "`radius` must be a whole number in [0, 2147483648], but is 10000000000000000000000 instead.",
        ),
        (
            lambda: AttentionMask.padding([[1, 0]]),
            "`valid` must be a tensor of shape (N, L), but is a list instead.",
        ),
        (
            lambda: AttentionMask.causal([[0, 1]]),
            "`positions` must be a tensor of shape (N, L), but is a list instead.",
        ),
        (lambda: AttentionMask.from_masked([[[0, 1]]]), "`mask` must be a tensor, but is a list instead."),
        (lambda: AttentionMask([[True]]), "`allowed` must be a tensor, but is a list instead."),
        (
            lambda: AttentionMask.causal(torch.arange(3)[None]).additive(torch.int64),
            "`dtype` must be a floating type, but is torch.int64 instead.",
        ),
        (
            lambda: AttentionMask().answerable,
            "This mask allows everything and has no tensor; look at `allowed` first.",
        ),
    ],
)
def test_impossible_masks_are_refused(make, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        make()

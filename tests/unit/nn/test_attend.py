"""The one attention call: equal to the loop on every path, zeros where nothing may be seen, no leaks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.nn.attend import attend
from longdoc.nn.mask import AttentionMask
from reference.attention import attend_slowly
from reference.positions import shaw_slowly

HALF = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, **HALF}


def silent(weights: torch.Tensor) -> torch.Tensor:
    """A value term that says nothing: attention is then written out."""
    return weights.new_zeros(())


PATHS: dict[str, dict] = {"kernel": {}, "written out": {"value_term": silent}}


def states(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for _ in range(3)]


@pytest.mark.parametrize("path", PATHS)
@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(1, 2),
    heads=st.integers(1, 2),
    length=st.integers(1, 5),
    mask_rows=st.booleans(),
    mask_heads=st.booleans(),
    one_query=st.booleans(),
    bias_shape=st.sampled_from([None, (1, 1), (1, None), (None, None)]),
    scale=st.sampled_from([None, 1.0]),
    seed=st.integers(0, 99),
)
def test_equals_the_loop(
    path: str, rows: int, heads: int, length: int, mask_rows: bool, mask_heads: bool, one_query: bool,
    bias_shape: tuple | None, scale: float | None, seed: int,
) -> None:  # fmt: skip
    q, k, v = states(rows, heads, length, 3, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    shape = (rows if mask_rows else 1, heads if mask_heads else 1, 1 if one_query else length, length)
    allowed = torch.rand(shape, generator=generator) < 0.6
    bias = None
    if bias_shape is not None:
        sizes = [full if size is None else size for size, full in zip(bias_shape, (rows, heads), strict=True)]
        bias = torch.randn(*sizes, length, length, generator=generator, dtype=torch.float64)
    expected = attend_slowly(q, k, v, allowed, bias, scale)
    for dtype in (torch.float64, torch.float32):
        out = attend(q.to(dtype), k.to(dtype), v.to(dtype), AttentionMask(allowed), bias, scale=scale, **PATHS[path])
        assert out.dtype == dtype
        assert torch.allclose(out.double(), expected, atol=TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_query_without_keys_gives_exactly_0_and_finite_gradients(dtype: torch.dtype, path: str) -> None:
    q, k, v = (x.requires_grad_() for x in states(2, 2, 6, 8, dtype=dtype))
    allowed = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    allowed[0, :, 2] = False
    allowed[1] = False
    out = attend(q, k, v, AttentionMask(allowed), **PATHS[path])
    assert (out[0, :, 2] == 0).all()
    assert (out[1] == 0).all()
    expected = attend_slowly(q, k, v, allowed)
    assert torch.allclose(out.double(), expected, atol=TOLERANCE[dtype], rtol=0)
    out.float().square().sum().backward()
    for x in (q, k, v):
        assert x.grad.isfinite().all()
        assert (x.grad[1] == 0).all(), "nothing of a row that sees nothing"
    assert (q.grad[0, :, 2] == 0).all()
    assert v.grad[0].abs().sum() > 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, "largest"])
@pytest.mark.parametrize("where", ["padding", "other block", "outside the window"])
def test_what_is_masked_never_leaks(where: str, poison: float | str, dtype: torch.dtype, path: str) -> None:
    value = torch.finfo(dtype).max if poison == "largest" else poison  # report B043
    length = 8
    positions = torch.arange(length)[None]
    mask, hit, clean_rows = {
        "padding": (AttentionMask.padding(positions < 6), [6, 7], slice(0, 6)),
        "other block": (AttentionMask.blocks((positions >= 3).long()), [1], slice(3, 8)),
        "outside the window": (AttentionMask.sliding_window(positions, 1), [7], slice(0, 6)),
    }[where]
    clean = states(1, 2, length, 4, dtype=dtype)
    for touched in ((1, 2), (0, 1, 2), (2,)):
        with_zeros, poisoned = [x.clone() for x in clean], [x.clone() for x in clean]
        for number in touched:
            with_zeros[number][:, :, hit] = 0
            poisoned[number][:, :, hit] = value
            poisoned[number].requires_grad_()
        expected = attend(*with_zeros, mask, **PATHS[path])
        out = attend(*poisoned, mask, **PATHS[path])
        assert torch.allclose(out[:, :, clean_rows], expected[:, :, clean_rows], atol=1e-6, rtol=0)
        out[:, :, clean_rows].float().sum().backward()
        for number in touched:
            assert poisoned[number].grad.isfinite().all()
            assert (poisoned[number].grad[:, :, hit] == 0).all()


def test_a_fault_that_may_be_seen_shows() -> None:
    q, k, v = states(1, 1, 4, 2, dtype=torch.float32)
    v[0, 0, 1, 0] = math.nan
    out = attend(q, k, v, AttentionMask.sliding_window(torch.arange(4)[None], 1))
    assert out[0, 0].isnan().any(-1).tolist() == [True, True, True, False]
    assert attend(q, k, v, None).isnan().any()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", HALF)
def test_a_fine_bias_stays_fine_under_16_bits(dtype: torch.dtype, path: str) -> None:
    q, k, v = states(1, 2, 5, 4, dtype=dtype)
    distances = (torch.arange(5)[:, None] - torch.arange(5)).abs()
    bias = (-0.3 * (distances + 300.0))[None, None]  # in bfloat16 all of these are nearly one number
    expected = attend_slowly(q, k, v, None, bias)
    assert torch.allclose(attend(q, k, v, None, bias, **PATHS[path]).double(), expected, atol=HALF[dtype], rtol=0)


def test_what_a_bias_holds_under_the_mask_does_not_matter() -> None:
    q, k, v = states(1, 1, 3, 2)
    mask = AttentionMask.causal(torch.arange(3)[None])
    bias = torch.zeros(1, 1, 3, 3, dtype=torch.float64)
    expected = attend(q, k, v, mask, bias)
    for value in (math.nan, math.inf, 1e30):
        for options in PATHS.values():
            out = attend(q, k, v, mask, bias.masked_fill(~mask.allowed, value), **options)
            assert torch.allclose(out, expected, atol=1e-12)


def test_dropout_keeps_the_expectation_and_follows_the_seed() -> None:
    q, k, v = states(1, 1, 6, 3, dtype=torch.float32)
    mask = AttentionMask.sliding_window(torch.arange(6)[None], 3)
    torch.manual_seed(3)
    draws = torch.stack([attend(q, k, v, mask, dropout=0.3) for _ in range(4000)])
    torch.manual_seed(3)
    assert torch.equal(attend(q, k, v, mask, dropout=0.3), draws[0])
    assert not torch.equal(draws[0], draws[1])
    error = draws.std(0) / math.sqrt(len(draws))
    assert ((draws.mean(0) - attend(q, k, v, mask)).abs() < 5 * error + 1e-6).all()


def test_gradients_of_both_paths_agree() -> None:
    grads = []
    mask = AttentionMask.sliding_window(torch.arange(7)[None], 2)
    for options in PATHS.values():
        inputs = [x.requires_grad_() for x in states(2, 2, 7, 4)]
        bias = torch.ones(1, 2, 7, 7, dtype=torch.float64, requires_grad=True)
        attend(*inputs, mask, bias, **options).square().sum().backward()
        grads.append([x.grad for x in (*inputs, bias)])
    for one, other in zip(*grads, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_the_value_term_carries_relative_positions_of_shaw() -> None:
    reach, length, width = 2, 6, 4
    q, k, v = states(2, 3, length, width)
    keys, values = (x[0, 0] for x in states(1, 1, 2 * reach + 1, width, seed=5)[:2])
    near = (torch.arange(length)[None] - torch.arange(length)[:, None]).clamp(-reach, reach) + reach
    index = near.expand(2, 3, length, length)
    bias = (q @ keys.T).gather(-1, index) / math.sqrt(width)

    def value_term(weights: torch.Tensor) -> torch.Tensor:
        sums = weights.new_zeros(2, 3, length, 2 * reach + 1).scatter_add(-1, index, weights)
        return sums @ values

    out = attend(q, k, v, None, bias, value_term=value_term)
    assert torch.allclose(out, shaw_slowly(q, k, v, keys, values, reach), atol=1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("width", [32, 64])
def test_the_kernels_of_an_accelerator_keep_the_same_promises(dtype: torch.dtype, with_bias: bool, width: int) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs an accelerator")
    allowed = torch.rand(2, 1, 64, 64, generator=torch.Generator().manual_seed(0)) < 0.5
    allowed[0, :, 5] = False
    allowed[1] = False
    allowed[..., 60:] = False
    bias = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1)) if with_bias else None
    clean = states(2, 3, 64, width, dtype=dtype)
    expected = attend(*(x.double() for x in clean), AttentionMask(allowed), None if bias is None else bias.double())
    poisoned = [x.cuda() for x in clean]
    for x in poisoned[1:]:
        x[:, :, 60:] = math.nan
    inputs = [x.requires_grad_() for x in poisoned]
    out = attend(*inputs, AttentionMask(allowed.cuda()), None if bias is None else bias.cuda())
    assert torch.allclose(out.double().cpu(), expected, atol=10 * TOLERANCE[dtype])
    assert (out[0, :, 5] == 0).all()
    assert (out[1] == 0).all()
    out.float().square().sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda q: attend(q, q, q, torch.ones(1, 1, 2, 2, dtype=torch.bool)),
            "`mask` must be an AttentionMask or None, but is Tensor instead. Say what it means: "
            "`AttentionMask(allowed)` for True = may attend, `AttentionMask.from_masked(mask)` for True = masked.",
        ),
        (
            lambda q: attend(q, q, q, None, torch.ones(1, 1, 2, 2, dtype=torch.bool)),
            "`bias` must be a floating type, but is torch.bool instead. What forbids pairs is a mask: pass `mask`.",
        ),
    ],
)
def test_a_mask_in_the_wrong_place_is_refused(call: Callable, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        call(torch.zeros(1, 1, 2, 4))

"""The compiled kernels against loops and float64, forward and backward, and what their dropout draws."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled_kit import kernels_for
from longdoc.nn.compiled.library import Level
from reference.attention import attend_slowly

LEVELS = [Level.AVX2, Level.AVX512, Level.AMX]
LEARNING = [Level.AVX2, Level.AVX512]
TOLERANCE = {Level.AVX2: 3e-6, Level.AVX512: 3e-6, Level.AMX: 2e-2}


def of(level: Level, *shape: int, seed: int = 0) -> torch.Tensor:
    """(N, H, L, Dh) that lies in memory as the projections leave it, (N, L, H, Dh)."""
    rows, heads, length, width = shape
    drawn = torch.randn(rows, length, heads, width, generator=torch.Generator().manual_seed(seed))
    return drawn.to(torch.bfloat16 if level == Level.AMX else torch.float32).transpose(1, 2)


def written_out(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, added: torch.Tensor | None, scale: float,
    kept: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    scores = q.double() @ k.double().transpose(-1, -2) * scale + (0 if added is None else added.double())
    weights = scores.softmax(-1)
    return (weights if kept is None else weights * kept) @ v.double()


@pytest.mark.parametrize("level", LEVELS)
@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 2), heads=st.integers(1, 3), length=st.integers(1, 9), width=st.integers(1, 70),
    masked=st.sampled_from(["no", "keys", "pairs"]), biased=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_equals_the_loop(
    level: Level, rows: int, heads: int, length: int, width: int, masked: str, biased: bool, seed: int
) -> None:
    kernels = kernels_for(level)
    q, k, v = (of(level, rows, heads, length, width, seed=seed + n) for n in (0, 100, 200))
    generator = torch.Generator().manual_seed(seed)
    allowed = bias = None
    added = torch.zeros(1, 1, 1, length)
    if masked != "no":
        queries = 1 if masked == "keys" else length
        allowed = torch.rand(rows, 1, queries, length, generator=generator) < 0.6
        added = added.expand(rows, 1, queries, length).masked_fill(~allowed, -math.inf)
    if biased:
        bias = torch.randn(1, heads, length, length, generator=generator)
        added = added + bias
    out, _ = kernels.forward(level, q, k, v, added if masked != "no" or biased else None, 0.4)
    expected = attend_slowly(q, k, v, allowed, bias, 0.4)
    assert out.dtype == q.dtype
    torch.testing.assert_close(out.double(), expected, atol=TOLERANCE[level], rtol=TOLERANCE[level])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("queries", "keys", "width"), [(512, 512, 32), (145, 145, 64), (3, 300, 128), (33, 17, 100)])
def test_long_rows_are_as_exact_as_those_of_torch(level: Level, queries: int, keys: int, width: int) -> None:
    kernels = kernels_for(level)
    q = of(level, 2, 3, queries, width)
    k, v = (of(level, 2, 3, keys, width, seed=seed) for seed in (1, 2))
    expected = written_out(q, k, v, None, width**-0.5)
    out, _ = kernels.forward(level, q, k, v, None, width**-0.5)
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    error, usual = ((x.double() - expected).abs().max() for x in (out, theirs))
    assert error <= 2 * usual


@pytest.mark.parametrize("level", LEARNING)
@pytest.mark.parametrize("dropped", [0, 6554])
@pytest.mark.parametrize(("queries", "keys", "width"), [(40, 40, 32), (7, 33, 20), (1, 1, 8)])
def test_gradients_are_those_of_the_formula(level: Level, dropped: int, queries: int, keys: int, width: int) -> None:
    kernels = kernels_for(level)
    q, k, v = (
        of(level, 2, 2, queries, width),
        of(level, 2, 2, keys, width, seed=1),
        of(level, 2, 2, keys, width, seed=2),
    )
    added = torch.randn(2, 1, queries, keys, generator=torch.Generator().manual_seed(3))
    added[:, :, :, ::3] = -math.inf
    added[:, :, :, 0] = 0.0
    upwards = of(level, 2, 2, queries, width, seed=4)
    out, sums = kernels.forward(level, q, k, v, added, 0.3, dropped, seed=7, wants_log_sums=True)
    found = kernels.backward(level, q, k, v, out, sums, upwards, added, 0.3, dropped, seed=7)
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    kept = drawn(level, 2, 2, queries, keys, dropped, seed=7)
    right = written_out(*exact, added, 0.3, kept)  # type: ignore[arg-type]
    torch.testing.assert_close(out.double(), right.detach(), atol=3e-6, rtol=3e-6)
    for ours, theirs in zip(found, torch.autograd.grad(right, exact, upwards.double()), strict=True):
        torch.testing.assert_close(ours.double(), theirs, atol=1e-5, rtol=1e-5)


def drawn(level: Level, rows: int, heads: int, queries: int, keys: int, dropped: int, seed: int) -> torch.Tensor:
    """The factors of dropout, (N, H, Lq, Lk): what comes of weights that are all alike and values that are a unit."""
    kernels = kernels_for(level)
    columns = []
    for start in range(0, keys, 16):
        unit = torch.zeros(rows, heads, keys, 16)
        for column in range(start, min(start + 16, keys)):
            unit[:, :, column, column - start] = keys
        zeros = torch.zeros(rows, heads, queries, 16), torch.zeros(rows, heads, keys, 16)
        columns.append(kernels.forward(level, *zeros, unit, None, 1.0, dropped, seed)[0])
    return torch.cat(columns, -1)[..., :keys].double()


@pytest.mark.parametrize("level", LEARNING)
def test_dropout_zeroes_its_share_and_keeps_the_expectation(level: Level) -> None:
    dropped = 6554  # 0.1 of 65,536
    kept = drawn(level, 2, 3, 60, 200, dropped, seed=5)
    values = kept.unique()
    torch.testing.assert_close(values, torch.tensor([0.0, 65536 / (65536 - dropped)], dtype=torch.float64))
    share, deviation = float((kept == 0).double().mean()), math.sqrt(0.1 * 0.9 / kept.numel())
    assert abs(share - 0.1) < 4 * deviation
    by_key = (kept == 0).double().mean((0, 1, 2))
    assert float((by_key - 0.1).abs().max()) < 5 * math.sqrt(0.1 * 0.9 / 360)


def test_dropout_is_drawn_anew_for_each_query_head_row_and_seed_and_alike_for_the_same() -> None:
    kept = drawn(Level.AVX2, 2, 2, 3, 512, 6554, seed=5).flatten(0, 2)
    for n in range(len(kept)):
        for m in range(n):
            both = float(((kept[n] == 0) & (kept[m] == 0)).double().mean())
            assert abs(both - 0.01) < 0.03
    assert torch.equal(kept, drawn(Level.AVX2, 2, 2, 3, 512, 6554, seed=5).flatten(0, 2))
    assert not torch.equal(kept, drawn(Level.AVX2, 2, 2, 3, 512, 6554, seed=6).flatten(0, 2))
    assert torch.equal(kept, drawn(Level.AVX512, 2, 2, 3, 512, 6554, seed=5).flatten(0, 2))


@pytest.mark.parametrize("level", LEVELS)
def test_a_query_without_keys_gives_0_and_a_broken_key_is_seen_by_those_that_may(level: Level) -> None:
    kernels = kernels_for(level)
    q, k, v = (of(level, 1, 2, 20, 16, seed=seed) for seed in range(3))
    added = torch.zeros(1, 1, 20, 20)
    added[:, :, 4] = -math.inf
    assert (kernels.forward(level, q, k, v, added, 0.3)[0][:, :, 4] == 0).all()
    k[0, 0, 3, 5] = math.nan
    out, _ = kernels.forward(level, q, k, v, None, 0.3)
    assert out[0, 0].isnan().all()
    assert out[0, 1].isfinite().all()


@pytest.mark.parametrize("level", LEVELS)
def test_the_bits_depend_on_no_neighbour_and_no_thread(level: Level) -> None:
    kernels = kernels_for(level)
    q, k, v = (of(level, 3, 4, 50, 32, seed=seed) for seed in range(3))
    together, _ = kernels.forward(level, q, k, v, None, 0.2)
    alone = torch.cat([kernels.forward(level, *(x[n : n + 1] for x in (q, k, v)), None, 0.2)[0] for n in range(3)])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        shared, _ = kernels.forward(level, q, k, v, None, 0.2)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(together, alone)
    assert torch.equal(together, shared)

"""Dropout with cheap random bits."""

from __future__ import annotations

import pytest
import torch

from longdoc.errors import UsageError
from longdoc.nn.dropout import Dropout, drop


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_of_zeros_and_the_mean_are_right(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    out = drop(torch.ones(400, 501, dtype=dtype), p)
    assert out.dtype == dtype
    assert (out == 0).double().mean().item() == pytest.approx(p, abs=4e-3)
    assert out.double().mean().item() == pytest.approx(1.0, rel=2e-2)
    assert len(out.unique()) == 2


def test_elements_fall_independently() -> None:
    torch.manual_seed(0)
    zeros = (drop(torch.ones(1 << 18), 0.5) == 0).double() - 0.5
    for lag in (1, 2, 3, 4, 5, 1024):
        assert abs((zeros[:-lag] * zeros[lag:]).mean().item()) < 3e-3, lag


def test_gradients_pass_where_values_pass() -> None:
    torch.manual_seed(0)
    x = torch.randn(50, 7, requires_grad=True)
    out = drop(x, 0.4)
    out.sum().backward()
    assert torch.equal(x.grad == 0, out == 0)
    assert torch.allclose(x.grad[out != 0], (out / x)[out != 0])


def test_seeds_and_saved_states_replay() -> None:
    x = torch.ones(333)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first, second = drop(x, 0.3), drop(x, 0.3)
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(drop(x, 0.3), first)


def test_the_module_is_silent_in_evaluation_and_at_0() -> None:
    x = torch.randn(9)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert (Dropout(1.0)(x) == 0).all()
    assert repr(Dropout(0.25)) == "Dropout(p=0.25)"


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_a_probability_is_between_0_and_1(p: float) -> None:
    with pytest.raises(UsageError, match=rf"^`p` must be in \[0, 1\], but is {p} instead\.$"):
        Dropout(p)

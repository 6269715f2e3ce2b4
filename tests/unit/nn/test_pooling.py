"""From a chunk's states to one vector."""

from __future__ import annotations

import math

import pytest
import torch

from longdoc.nn.pooling import POOLINGS
from nn_kit import batch_of


def test_mean_does_not_see_padding() -> None:
    hidden = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 2.0]]])  # report B048
    valid = torch.tensor([[True, True, False, False]])
    batch = batch_of(torch.zeros(1, 4, dtype=torch.int64), valid, core=valid)
    assert POOLINGS["mean"].pool(hidden, batch).tolist() == [[1.0, 0.0]]


def test_each_pooling_by_hand() -> None:
    hidden = torch.tensor(
        [[[9.0, 9.0], [1.0, 5.0], [3.0, -1.0], [7.0, 7.0]], [[8.0, 2.0], [4.0, 6.0], [0.0, 0.0], [0.0, 0.0]]]
    )
    valid = torch.tensor([[True, True, True, True], [True, True, False, False]])
    core = torch.tensor([[False, True, True, False], [False, True, False, False]])
    batch = batch_of(torch.zeros(2, 4, dtype=torch.int64), valid, core=core)
    pooled = {kind: pooling.pool(hidden.double(), batch).tolist() for kind, pooling in POOLINGS.items()}
    assert pooled == {
        "cls": [[9.0, 9.0], [8.0, 2.0]],
        "mean": [[2.0, 2.0], [4.0, 6.0]],
        "max": [[3.0, 5.0], [4.0, 6.0]],
        "mean_with_specials": [[13 / 3, 13 / 3], [6.0, 4.0]],
    }


def test_the_first_real_token_is_found_behind_left_padding() -> None:
    hidden = torch.arange(10.0).reshape(2, 5, 1)
    valid = torch.tensor([[False, False, True, True, True], [True, True, True, False, False]])
    batch = batch_of(torch.zeros(2, 5, dtype=torch.int64), valid)
    assert POOLINGS["cls"].pool(hidden, batch).flatten().tolist() == [2.0, 5.0]


@pytest.mark.parametrize("kind", POOLINGS)
def test_nothing_leaks_from_outside_and_no_core_gives_no_nan(kind: str) -> None:
    hidden = torch.full((2, 3, 2), math.nan)
    hidden[0, 1] = 2.0
    core = torch.tensor([[False, True, False], [False, False, False]])
    valid = torch.tensor([[False, True, False], [False, True, False]])
    hidden[1, 1] = 2.0
    hidden.requires_grad_()
    pooled = POOLINGS[kind].pool(hidden, batch_of(torch.zeros(2, 3, dtype=torch.int64), valid, core=core))
    specials = kind in ("cls", "mean_with_specials")
    assert pooled.tolist() == [[2.0, 2.0], [2.0, 2.0] if specials else [0.0, 0.0]]
    pooled.sum().backward()
    assert hidden.grad.isfinite().all()


@pytest.mark.parametrize("kind", POOLINGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_shares_make_the_pooled_vector_out_of_tokens(kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(3, 6, 4).round(decimals=1).to(dtype)  # rounded: ties happen
    core = torch.rand(3, 6) < 0.6
    batch = batch_of(torch.zeros(3, 6, dtype=torch.int64), core=core)
    pooled, shares = POOLINGS[kind].pool(hidden, batch), POOLINGS[kind].shares(hidden, batch)
    assert pooled.dtype == torch.promote_types(dtype, torch.float32)
    if kind in ("cls", "mean_with_specials"):
        assert shares is None
        return
    assert (shares.expand(3, 6, 4)[~core] == 0).all()
    assert torch.allclose((hidden * shares).sum(1).to(pooled.dtype), pooled, atol=1e-6)

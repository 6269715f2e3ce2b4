"""Prepared weights: the same products, prepared anew after learning, and left alone where more hangs on them."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn

from longdoc.nn import products
from longdoc.nn.layers import ACTIVATIONS
from longdoc.nn.products import packed_products, packs_products, product

if not packs_products(torch.device("cpu"), torch.bfloat16):
    pytest.skip("oneDNN knows no bfloat16 on this processor", allow_module_level=True)


def packed(linear: nn.Module, x: torch.Tensor, name: str = "") -> torch.Tensor:
    with torch.inference_mode(), packed_products(torch.bfloat16):
        return product(linear, x, ACTIVATIONS.get(name), name)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["", *ACTIVATIONS])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (2, 37), (3, 512)])
def test_equals_the_product_in_float64(name: str, bias: bool, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(48, 96, bias=bias), torch.randn(*shape, 48)
    found = packed(linear, x, name)
    assert found.dtype == torch.bfloat16
    narrow = [None if y is None else y.detach().bfloat16().double() for y in (x, linear.weight, linear.bias)]
    exact = nn.functional.linear(*narrow)  # type: ignore[arg-type]
    exact = ACTIVATIONS[name](exact) if name else exact  # type: ignore[index]
    torch.testing.assert_close(found.double(), exact, atol=1e-2, rtol=1e-2)


def test_weights_that_have_learned_are_prepared_anew() -> None:
    linear, x = nn.Linear(8, 8), torch.randn(1, 4, 8)
    first = packed(linear, x)
    assert torch.equal(packed(linear, x), first)
    with torch.no_grad():
        linear.weight.mul_(2)
        linear.bias.mul_(2)
    torch.testing.assert_close(packed(linear, x).float(), 2 * first.float(), atol=1e-2, rtol=1e-2)
    linear.load_state_dict({name: value / 2 for name, value in linear.state_dict().items()})
    torch.testing.assert_close(packed(linear, x).float(), first.float(), atol=1e-2, rtol=1e-2)


def test_it_is_prepared_once_and_gone_with_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, x = nn.Linear(8, 8), torch.randn(1, 4, 8)
    packed(linear, x)
    monkeypatch.setattr(products, "_Packed", None)
    packed(linear, x)
    before = len(products._kept)
    del linear
    gc.collect()
    assert len(products._kept) == before - 1


def test_what_is_more_than_a_product_stays_as_it_is() -> None:
    x = torch.randn(1, 4, 8)

    class Corrected(nn.Linear):
        """A product with something added, as corrections are."""

        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return super().forward(y) + 1

    corrected, hooked = Corrected(8, 8), nn.Linear(8, 8)
    hooked.register_forward_hook(lambda module, given, out: out + 1)
    for linear in (corrected, hooked):
        assert torch.equal(packed(linear, x), linear(x))
    learning = nn.Linear(8, 8)
    with packed_products(torch.bfloat16):
        found = product(learning, x)
    assert found.requires_grad
    assert torch.equal(found, learning(x))
    assert torch.equal(packed(learning.double(), x.double()).float(), packed(learning, x.double()).float())

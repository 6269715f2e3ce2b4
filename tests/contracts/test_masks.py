"""What attention promises for every rule of `AttentionMask`, on both paths, in every dtype.

A new rule is covered by being a constructor of `AttentionMask`; give it arguments in `EXAMPLES`.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch

from longdoc.nn.attend import attend
from longdoc.nn.mask import AttentionMask
from reference.attention import attend_slowly

ROWS, HEADS, LENGTH, WIDTH = 2, 2, 6, 4
POSITIONS = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]])
VALID = torch.tensor([[True, True, True, True, False, False], [False, False, True, True, True, True]])
LOST = torch.tensor([[True] * LENGTH, [False] * LENGTH])  # nothing of the second row may be seen

EXAMPLES: dict[str, tuple[Any, ...]] = {
    "padding": (VALID,),
    "causal": (POSITIONS,),
    "sliding_window": (POSITIONS, 1),
    "blocks": (SEGMENTS,),
    "globals_": (POSITIONS == 2,),
    "from_masked": (~VALID[:, None, None],),
}
RULES = [
    name
    for name, value in inspect.getmembers(AttentionMask, inspect.ismethod)
    if value.__self__ is AttentionMask and not name.startswith("_")
]
DTYPES = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 3e-2, torch.float16: 3e-3}
PATHS: dict[str, dict[str, Any]] = {
    "kernel": {},
    "written out": {"value_term": lambda weights: weights.new_zeros(())},
    "with a bias": {"bias": torch.linspace(-1, 1, LENGTH * LENGTH).view(1, 1, LENGTH, LENGTH)},
}
every_rule = pytest.mark.parametrize("rule", RULES)
every_path = pytest.mark.parametrize("path", PATHS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def masks(rule: str) -> list[AttentionMask]:
    """The rule alone, with padding, and with a row of which nothing may be seen."""
    mask = getattr(AttentionMask, rule)(*EXAMPLES[rule])
    return [mask, mask & AttentionMask.padding(VALID), mask & AttentionMask.padding(LOST)]


def states(dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (ROWS, HEADS, LENGTH, WIDTH)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for _ in range(3)]


@every_rule
@every_path
@every_dtype
def test_equals_the_loop_with_zeros_where_nothing_is_seen(rule: str, path: str, dtype: torch.dtype) -> None:
    for mask in masks(rule):
        inputs = states(dtype)
        out = attend(*inputs, mask, **PATHS[path])
        expected = attend_slowly(*inputs, mask.allowed, PATHS[path].get("bias"))
        assert out.dtype == dtype
        assert torch.allclose(out.double(), expected, atol=DTYPES[dtype], rtol=0)
        lost = ~mask.allowed.expand(ROWS, HEADS, LENGTH, LENGTH).any(-1)
        assert (out[lost] == 0).all(), "exactly"
        out.float().square().sum().backward()
        assert all(x.grad.isfinite().all() for x in inputs)


@every_rule
@every_path
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_no_key_that_is_masked_everywhere_leaks(rule: str, path: str, dtype: torch.dtype, dropout: float) -> None:
    for mask in masks(rule):
        unseen = ~mask.allowed.expand(ROWS, HEADS, LENGTH, LENGTH).any(-2)
        results = []
        for fill in (0.0, math.nan, math.inf, 1e4):
            q, k, v = (x.detach().clone() for x in states(dtype))
            k[unseen], v[unseen] = fill, fill
            k.requires_grad_()
            torch.manual_seed(0)
            out = attend(q, k, v, mask, dropout=dropout, **PATHS[path])
            out.float().sum().backward()
            assert k.grad.isfinite().all()
            results.append(out.detach())
        for out in results[1:]:
            assert torch.allclose(out.float(), results[0].float(), atol=1e-6, rtol=0)


@every_rule
def test_every_rule_means_what_its_two_forms_say(rule: str) -> None:
    for mask in masks(rule):
        again = AttentionMask.from_masked(~mask.allowed)
        assert torch.equal(again.allowed, mask.allowed)
        assert torch.equal(mask.additive(torch.float32) == 0, mask.allowed)

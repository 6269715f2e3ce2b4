"""Each further rule of a mask, pair by pair."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.mask import AttentionMask
from longdoc.nn.mask_rules import DilatedRule, LocalBlocksRule, MaskRule, PrefixRule


def drawn(rule: MaskRule, positions: list[int]) -> list[str]:
    allowed = rule.mask(torch.tensor([positions])).allowed
    assert allowed is not None
    return ["".join("#" if pair else "." for pair in row) for row in allowed[0, 0].tolist()]


@pytest.mark.parametrize(
    ("rule", "pairs"),
    [
        (DilatedRule(radius=1, step=2), ["#.#..", ".#.#.", "#.#.#", ".#.#.", "..#.#"]),
        (LocalBlocksRule(size=2), ["##...", "##...", "..##.", "..##.", "....#"]),
        (PrefixRule(length=2), ["##...", "##...", "###..", "####.", "#####"]),
    ],
)
def test_who_sees_whom(rule: MaskRule, pairs: list[str]) -> None:
    assert drawn(rule, [0, 1, 2, 3, 4]) == pairs


def test_positions_decide_not_places() -> None:
    assert drawn(LocalBlocksRule(size=3), [3, 4, 0, 5]) == ["##.#", "##.#", "..#.", "##.#"]


def test_without_gaps_a_dilated_window_is_a_window_and_without_a_beginning_a_prefix_is_causal() -> None:
    order = torch.arange(9)[None]
    window = AttentionMask.sliding_window(order, 3).allowed
    assert torch.equal(DilatedRule(radius=3, step=1).mask(order).allowed, window)
    assert torch.equal(PrefixRule(length=0).mask(order).allowed, AttentionMask.causal(order).allowed)
    assert torch.equal(DilatedRule(radius=200, step=1).mask(order.to(torch.uint8)).allowed, torch.ones_like(window))

"""The drawing of a configured encoder is the mask that its layers run with."""

from __future__ import annotations

import torch

from longdoc.study.encoder_masks import encoder_masks
from longdoc.study.masks import MaskRow, mask_of, mask_text
from nn_kit import padded, some_ids, tiny_config, tiny_encoder


def test_each_mask_that_differs_is_drawn_with_its_rules() -> None:
    config = tiny_config(layers=3, window=(None, 1), global_tokens=1, masks=[{"kind": "local_blocks", "size": 2}])
    everything, near = encoder_masks(config, MaskRow(6, padding=1))
    assert (everything.layers, everything.title) == ((0, 2), "layers 0, 2")
    assert (near.layers, near.title) == ((1,), "layer 1")
    assert near.rules == ["window 1 | global 0", "local_blocks size 2 | global 0", "padding 1"]
    assert everything.rules == near.rules[1:]
    assert mask_text(near.allowed).splitlines() == ["#####.", "##....", "#.##..", "#.##..", "#...#.", "#...#."]


def test_it_is_the_mask_of_the_same_rules_said_one_by_one() -> None:
    (found,) = encoder_masks(tiny_config(layers=2, window=2, causal=True), MaskRow(9, 1, 1, (3,)))
    allowed, rules = mask_of(9, 1, True, 2, (3,), padding_left=1)
    assert torch.equal(found.allowed, allowed)
    assert found.rules == rules


def test_a_pair_that_is_drawn_is_one_that_the_encoder_hears() -> None:
    rule = {"kind": "dilated", "radius": 1, "step": 1}
    encoder = tiny_encoder(layers=1, window=1, masks=[rule], position="none", causal=True)
    (found,) = encoder_masks(encoder.config, MaskRow(6, padding_left=1))
    ids, valid = padded([some_ids(5)], 6, "left")
    for key in range(1, 6):
        changed = ids.clone()
        changed[0, key] = ids[0, key] % 40 + 1
        moved = (encoder(ids, valid) - encoder(changed, valid)).abs().amax(-1)[0] > 1e-6
        assert torch.equal(moved[1:], found.allowed[1:, key])

"""Gradients of a whole encoder layer against differences, in float64: every position encoding under every mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.func import functional_call

from longdoc.nn.layers import EncoderLayer, FeedForward, SelfAttention
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import Geometry, PositionConfig, stack_axes
from nn_kit import randomised
from position_kit import CONFIGS, KINDS

LENGTH, WIDTH, HEADS = 5, 12, 3
GEOMETRY = Geometry(width=WIDTH, heads=HEADS, head_width=WIDTH // HEADS, layers=2, max_len=LENGTH)
SMALL = {"shaw": {"clip": 2}, "disentangled": {"buckets": 4, "max_distance": 8}, "buckets": {"buckets": 4}}
UNFIT = {"axial sections"}  # made for heads of another width
ORDER = torch.arange(LENGTH)[None]
VALID = torch.tensor([[True] * 5, [False, True, True, True, False]])
MASKS: dict[str, AttentionMask | None] = {
    "none": None,
    "padding": AttentionMask.padding(VALID),
    "padding that hides a row": AttentionMask.padding(torch.tensor([[True] * 5, [False] * 5])),
    "causal after padding on the left": AttentionMask.causal(ORDER) & AttentionMask.padding(VALID),
    "window": AttentionMask.sliding_window(ORDER, 1),
    "blocks": AttentionMask.blocks(torch.tensor([[0, 0, 0, 1, 1]])),
    "globals": AttentionMask.padding(VALID)
    & (AttentionMask.sliding_window(ORDER, 1) | AttentionMask.globals_(ORDER == 0)),
    "masked": AttentionMask.from_masked(~VALID[:, None, None]),
}


class Layer(nn.Module):
    """Position on the embeddings, then one encoder layer, as the encoder does it."""

    def __init__(self, config: dict[str, Any], pre_norm: bool) -> None:
        super().__init__()
        self.position = TypeAdapter(PositionConfig).validate_python(config).build(GEOMETRY)
        attention, feed_forward = SelfAttention(WIDTH, HEADS), FeedForward(WIDTH, 7)
        self.layer = EncoderLayer(attention, feed_forward, nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), pre_norm=pre_norm)

    def forward(self, x: Tensor, mask: AttentionMask | None, positions: Tensor) -> Tensor:
        x = self.position.embed(x, positions)
        return self.layer(x, mask, self.position.plan(positions, x.dtype), 1)


def checked(config: dict[str, Any], mask: AttentionMask | None, pre_norm: bool) -> tuple[Callable[..., Tensor], Any]:
    """The layer as a function of its input and all its parameters, and what to put in."""
    module: Layer = randomised(Layer(config | SMALL.get(config["kind"], {}), pre_norm), std=0.5).double().train()
    positions = stack_axes(ORDER, ORDER // 2, ORDER % 3, ORDER % 2)
    names = [name for name, _ in module.named_parameters()]
    inputs = [torch.randn(2, LENGTH, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))]
    inputs += [parameter.detach() for parameter in module.parameters()]

    def run(x: Tensor, *parameters: Tensor) -> Tensor:
        return functional_call(module, dict(zip(names, parameters, strict=True)), (x, mask, positions))

    return run, tuple(tensor.clone().requires_grad_() for tensor in inputs)


@pytest.mark.parametrize(
    ("name", "mask"),
    [(kind, mask) for kind in KINDS for mask in MASKS]
    + [(variant, "globals") for variant in CONFIGS if variant not in {*KINDS, *UNFIT}],
)
def test_gradients_along_random_directions(name: str, mask: str) -> None:
    torch.manual_seed(0)
    run, inputs = checked(CONFIGS[name], MASKS[mask], pre_norm=False)
    assert gradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_number_by_number(kind: str) -> None:
    run, inputs = checked(CONFIGS[kind], MASKS["causal after padding on the left"], pre_norm=True)
    assert gradcheck(lambda x: run(x, *inputs[1:]), inputs[:1])

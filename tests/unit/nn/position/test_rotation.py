"""The turning of queries and keys against the families of transformers, and weights that change their layout."""

from __future__ import annotations

import pytest
import torch

from longdoc.nn.position import RotaryPosition
from longdoc.nn.position.rotation import turn


def test_interleaved_pairs_equal_roformer() -> None:
    from transformers.models.roformer.modeling_roformer import (
        RoFormerSelfAttention,
        RoFormerSinusoidalPositionalEmbedding,
    )

    q, k = torch.randn(2, 1, 2, 40, 16)
    table = RoFormerSinusoidalPositionalEmbedding(40, 16)
    with torch.no_grad():
        table.weight.copy_(table.create_weight())
    theirs = RoFormerSelfAttention.apply_rotary_position_embeddings(table((1, 40))[None, None], q, k)
    ours = RotaryPosition(16, "interleaved").plan(torch.arange(40)[None], torch.float32).rotate(q, k, 0)
    for mine, expected in zip(ours, theirs, strict=True):
        assert torch.allclose(mine, expected, atol=1e-5)


def test_a_quarter_of_the_head_equals_gpt_neox() -> None:
    from transformers import GPTNeoXConfig
    from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXRotaryEmbedding, apply_rotary_pos_emb

    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    config = GPTNeoXConfig(hidden_size=64, num_attention_heads=2, rope_parameters=rope)
    q, k = torch.randn(2, 1, 2, 40, 32)
    positions = torch.arange(40)[None]
    theirs = apply_rotary_pos_emb(q, k, *GPTNeoXRotaryEmbedding(config)(q, positions))
    encoding = RotaryPosition(32, partial_rotary_factor=0.25)
    for mine, expected in zip(encoding.plan(positions, torch.float32).rotate(q, k, 0), theirs, strict=True):
        assert torch.equal(mine, expected)


def test_the_other_layout_equals_the_first_after_its_rows_are_reordered() -> None:
    order = torch.stack([torch.arange(4), torch.arange(4, 8)], 1).flatten()  # 0, 4, 1, 5 ...
    x, positions = torch.randn(1, 1, 6, 8), torch.arange(6)[None]
    half = RotaryPosition(8, "half").plan(positions, torch.float32).rotate(x, x, 0)[0]
    interleaved = RotaryPosition(8, "interleaved").plan(positions, torch.float32).rotate(x[..., order], x, 0)[0]
    assert torch.allclose(interleaved, half[..., order], atol=1e-6)
    wrong = RotaryPosition(8, "interleaved").plan(positions, torch.float32).rotate(x, x, 0)[0]
    assert not torch.allclose(wrong, half, atol=1e-2), "a wrong layout shows"


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_turning_is_done_in_float32_or_finer(layout: str, dtype: torch.dtype) -> None:
    x = torch.randn(1, 1, 3, 6).to(dtype)
    angles = torch.tensor([[[[0.0, 0.1, 0.2], [100.0, 200.0, 300.0], [1.0, 2.0, 3.0]]]])
    ours = turn(x, angles.cos(), angles.sin(), layout)
    assert ours.dtype == dtype
    fine = turn(x.double(), angles.cos(), angles.sin(), layout)
    assert torch.equal(ours, fine.to(dtype)) or torch.allclose(ours.double(), fine, rtol=torch.finfo(dtype).eps)

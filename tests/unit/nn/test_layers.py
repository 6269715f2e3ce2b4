"""The parts of a layer."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import nn

from longdoc.errors import UsageError
from longdoc.nn.layers import (
    ACTIVATIONS,
    EncoderLayer,
    FeedForward,
    GatedFeedForward,
    build_norm,
)
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position import PositionPlan
from longdoc.nn.self_attention import SelfAttention
from reference.attention import attend_slowly


def split(x: torch.Tensor, heads: int) -> torch.Tensor:
    return torch.stack(x.chunk(heads, -1), 1)


def test_attention_equals_the_loop_over_heads() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(width=6, heads=3).double()
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    mask = AttentionMask.causal(torch.arange(4)[None])
    q, k, v = (split(project(x), 3) for project in (attention.query, attention.key, attention.value))
    heads = attend_slowly(q, k, v, mask.allowed)
    expected = attention.output(torch.cat(list(heads.unbind(1)), -1))
    assert torch.allclose(attention(x, mask, PositionPlan(), 0), expected, atol=1e-12)


def test_a_plan_speaks_to_queries_keys_scores_and_values() -> None:
    class Loud(PositionPlan):
        scale = 0.25

        def rotate(self, q, k, layer):
            return q * 2, k + layer

        def content_bias(self, q, k, project, layer):
            table_queries, table_keys = project(table)  # as disentangled attention: content to position and back
            return (q @ table_keys.transpose(-1, -2)) + (k @ table_queries.transpose(-1, -2)).transpose(-1, -2)

        def value_term(self, layer):
            return lambda weights: weights.square().sum(-1, keepdim=True)

    torch.manual_seed(0)
    attention = SelfAttention(width=4, heads=2).double()
    x = torch.randn(1, 3, 4, dtype=torch.float64)
    table = torch.randn(3, 4, dtype=torch.float64)
    q, k, v = (split(project(x), 2) for project in (attention.query, attention.key, attention.value))
    q, k = q * 2, k + 5
    table_queries, table_keys = (split(project(table)[None], 2) for project in (attention.query, attention.key))
    scores = q @ k.mT * 0.25 + q @ table_keys.mT + (k @ table_queries.mT).mT
    weights = scores.softmax(-1)
    heads = weights @ v + (weights * weights).sum(-1, keepdim=True)
    expected = attention.output(torch.cat(list(heads.unbind(1)), -1))
    assert torch.allclose(attention(x, None, Loud(), 5), expected, atol=1e-12)


def test_dropout_on_weights_is_for_training_only() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(width=4, heads=2, dropout=0.5)
    x = torch.randn(1, 6, 4)
    calm = attention.eval()(x, None, PositionPlan(), 0)
    assert torch.equal(attention(x, None, PositionPlan(), 0), calm)
    assert not torch.allclose(attention.train()(x, None, PositionPlan(), 0), calm)


def test_heads_divide_the_width() -> None:
    with pytest.raises(UsageError, match=r"^`width` must be a multiple of `heads` \(4\), but is 10 instead\.$"):
        SelfAttention(width=10, heads=4)


def test_activations_have_the_values_of_their_formulas() -> None:
    for value in (-1.5, -0.2, 0.0, 0.7, 2.0):
        x = torch.tensor(value, dtype=torch.float64)
        cube = math.sqrt(2 / math.pi) * (value + 0.044715 * value**3)
        expected = {
            "gelu": value * 0.5 * (1 + math.erf(value / math.sqrt(2))),
            "gelu_tanh": 0.5 * value * (1 + math.tanh(cube)),
            "relu": max(value, 0.0),
            "silu": value / (1 + math.exp(-value)),
            "tanh": math.tanh(value),
        }
        assert {name: float(function(x)) for name, function in ACTIVATIONS.items()} == pytest.approx(expected)


@pytest.mark.parametrize("bias", [True, False])
def test_feed_forward_plain_and_gated(bias: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    plain = FeedForward(4, 8, "relu", bias).double()
    assert torch.allclose(plain(x), plain.output(plain.inner(x).clamp(min=0)))
    gated = GatedFeedForward(4, 8, "relu", bias).double()
    assert torch.allclose(gated(x), gated.output(gated.gate(x).clamp(min=0) * gated.inner(x)))
    assert (plain.inner.bias is not None) == bias
    assert (gated.gate.bias is not None) == bias


@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_norm_stands_before_or_after(pre_norm: bool) -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(
        SelfAttention(4, 2), FeedForward(4, 8), nn.LayerNorm(4), build_norm("rms", 4, 1e-6), pre_norm=pre_norm
    ).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)

    def attention(y: torch.Tensor) -> torch.Tensor:
        return layer.attention(y, None, PositionPlan(), 0)

    if pre_norm:
        y = x + attention(layer.attention_norm(x))
        expected = y + layer.feed_forward(layer.feed_forward_norm(y))
    else:
        y = layer.attention_norm(x + attention(x))
        expected = layer.feed_forward_norm(y + layer.feed_forward(y))
    assert torch.allclose(layer(x, None, PositionPlan(), 0), expected)


def test_norms() -> None:
    x = torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
    rms = math.sqrt((1 + 4 + 9) / 3 + 1e-6)
    assert torch.allclose(build_norm("rms", 3, 1e-6).double()(x), x / rms)
    mean, variance = 2 / 3, (1 + 4 + 9) / 3 - (2 / 3) ** 2
    assert torch.allclose(build_norm("layer", 3, 1e-6).double()(x), (x - mean) / math.sqrt(variance + 1e-6))
    assert build_norm("layer", 3, 1e-6, bias=False).bias is None
    assert re.search("RMSNorm", repr(build_norm("rms", 3, 1e-6)))

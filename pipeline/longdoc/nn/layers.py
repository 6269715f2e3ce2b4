"""The parts of an encoder layer beside its attention: feed-forward, norms, and the layer that joins them.

Shape letters: N rows, L length, D width, H heads, Dh width of a head, M width of the feed-forward part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from longdoc.nn.dropout import Dropout
from longdoc.nn.packed import LayerMask
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.products import product
from longdoc.nn.self_attention import GlobalTokens, SelfAttention

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "EncoderLayer",
    "FeedForward",
    "GatedFeedForward",
    "Norm",
    "SelfAttention",
    "build_norm",
]

Activation = Literal["gelu", "gelu_tanh", "relu", "silu", "tanh"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "tanh": F.tanh,
}
"""`gelu` is the exact one (BERT); `gelu_tanh` its approximation. They differ by up to 3e-3 in a model's output."""

Norm = Literal["layer", "rms"]


def build_norm(kind: Norm, width: int, eps: float, bias: bool = True) -> nn.Module:
    """LayerNorm (Ba et al. 2016, arXiv 1607.06450) or RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467)."""
    return nn.LayerNorm(width, eps=eps, bias=bias) if kind == "layer" else nn.RMSNorm(width, eps=eps)


class FeedForward(nn.Module):
    """Wide, activation, narrow: `output(activation(inner(x)))`.

    Args:
        width: D.
        inner_width: M.
        activation: a name of `ACTIVATIONS`.
        bias: whether the projection to M has one.
        output_bias: whether the projection back has one; None = as `bias`.
    """

    def __init__(
        self,
        width: int,
        inner_width: int,
        activation: Activation = "gelu",
        bias: bool = True,
        output_bias: bool | None = None,
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width, bias=bias)
        self.output = nn.Linear(inner_width, width, bias=bias if output_bias is None else output_bias)
        self.activation = ACTIVATIONS[activation]
        self.activation_name = activation

    def forward(self, x: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        return product(self.output, product(self.inner, x, self.activation, self.activation_name))


class GatedFeedForward(nn.Module):
    """A gated linear unit (Shazeer 2020, arXiv 2002.05202): `output(activation(gate(x)) * inner(x))`.

    Args:
        width: D.
        inner_width: M.
        activation: a name of `ACTIVATIONS`; `gelu` makes GeGLU, `silu` makes SwiGLU.
        bias: whether the two projections to M have one.
        output_bias: whether the projection back has one; None = as `bias`.
    """

    def __init__(
        self,
        width: int,
        inner_width: int,
        activation: Activation = "gelu",
        bias: bool = True,
        output_bias: bool | None = None,
    ) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner_width, bias=bias)
        self.inner = nn.Linear(width, inner_width, bias=bias)
        self.output = nn.Linear(inner_width, width, bias=bias if output_bias is None else output_bias)
        self.activation = ACTIVATIONS[activation]
        self.activation_name = activation

    def forward(self, x: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        gates = product(self.gate, x, self.activation, self.activation_name)
        return product(self.output, gates * product(self.inner, x))


class EncoderLayer(nn.Module):
    """Attention, then feed-forward, each with a residual connection and a norm.

    Args:
        attention, feed_forward: the two parts.
        attention_norm, feed_forward_norm: one norm for each.
        dropout: on what each part adds, while training.
        pre_norm: norm before each part (GPT-2, ModernBERT) instead of after the sum (BERT).

    Attributes:
        recomputes: while gradients are recorded keep what came in alone, and compute the layer once more on the way
            back (activation checkpointing: Chen et al. 2016, arXiv 1604.06174): less memory, the same numbers.
    """

    def __init__(
        self,
        attention: SelfAttention,
        feed_forward: FeedForward | GatedFeedForward,
        attention_norm: nn.Module,
        feed_forward_norm: nn.Module,
        dropout: float = 0.0,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_norm = attention_norm
        self.feed_forward = feed_forward
        self.feed_forward_norm = feed_forward_norm
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm
        self.recomputes = False

    def forward(
        self,
        x: Tensor,
        mask: LayerMask | None,
        plan: PositionPlan,
        layer: int,
        global_tokens: GlobalTokens | None = None,
    ) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        if self.recomputes and torch.is_grad_enabled():
            # The random state is replayed, so dropout drops the same units again.
            again = checkpoint(self._computed, x, mask, plan, layer, global_tokens, use_reentrant=False)
            return again  # type: ignore[no-any-return]
        return self._computed(x, mask, plan, layer, global_tokens)

    def _computed(
        self,
        x: Tensor,
        mask: LayerMask | None,
        plan: PositionPlan,
        layer: int,
        global_tokens: GlobalTokens | None,
    ) -> Tensor:
        if self.pre_norm:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask, plan, layer, global_tokens))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))  # type: ignore[no-any-return]
        x = self.attention_norm(x + self.dropout(self.attention(x, mask, plan, layer, global_tokens)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]

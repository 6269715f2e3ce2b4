"""The parts of an encoder layer: attention, feed-forward, norms, and the layer that joins them.

Shape letters: N rows, L length, D width, H heads, Dh width of a head, M width of the feed-forward part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.attend import attend
from longdoc.nn.dropout import Dropout
from longdoc.nn.mask import AttentionMask
from longdoc.nn.position.plan import PositionPlan

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


class SelfAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017, arXiv 1706.03762).

    Args:
        width: D, a multiple of `heads`.
        heads: H.
        dropout: on attention weights, while training.
        bias: whether the four projections have one.
    """

    def __init__(self, width: int, heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if width % heads:
            raise UsageError(f"`width` must be a multiple of `heads` ({heads}), but is {width} instead.")
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width, bias=bias)
        self.key = nn.Linear(width, width, bias=bias)
        self.value = nn.Linear(width, width, bias=bias)
        self.output = nn.Linear(width, width, bias=bias)

    def forward(self, x: Tensor, mask: AttentionMask | None, plan: PositionPlan, layer: int) -> Tensor:
        """(N, L, D) -> (N, L, D). `layer` is this layer's number, for encodings that differ from layer to layer."""
        q, k, v = (self._split(project(x)) for project in (self.query, self.key, self.value))
        q, k = plan.rotate(q, k, layer)
        out = attend(
            q,
            k,
            v,
            mask,
            bias=plan.content_bias(q, k, self._project_table, layer),
            dropout=self.dropout if self.training else 0.0,
            scale=plan.scale,
            value_term=plan.value_term(layer),
        )
        out = out.transpose(1, 2).flatten(2)  # (N, H, L, Dh) -> (N, L, D)
        return self.output(out)  # type: ignore[no-any-return]

    def _project_table(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """(R, D) -> two of (H, R, Dh): a table of positions as this layer's queries and keys."""
        return self._split(self.query(table)[None])[0], self._split(self.key(table)[None])[0]

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)  # (N, L, D) -> (N, H, L, Dh)


class FeedForward(nn.Module):
    """Wide, activation, narrow: `output(activation(inner(x)))`.

    Args:
        width: D.
        inner_width: M.
        activation: a name of `ACTIVATIONS`.
        bias: whether the projections have one.
    """

    def __init__(self, width: int, inner_width: int, activation: Activation = "gelu", bias: bool = True) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width, bias=bias)
        self.output = nn.Linear(inner_width, width, bias=bias)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        return self.output(self.activation(self.inner(x)))  # type: ignore[no-any-return]


class GatedFeedForward(nn.Module):
    """A gated linear unit (Shazeer 2020, arXiv 2002.05202): `output(activation(gate(x)) * inner(x))`.

    Args:
        width: D.
        inner_width: M.
        activation: a name of `ACTIVATIONS`; `gelu` makes GeGLU, `silu` makes SwiGLU.
        bias: whether the projections have one.
    """

    def __init__(self, width: int, inner_width: int, activation: Activation = "gelu", bias: bool = True) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner_width, bias=bias)
        self.inner = nn.Linear(width, inner_width, bias=bias)
        self.output = nn.Linear(inner_width, width, bias=bias)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        return self.output(self.activation(self.gate(x)) * self.inner(x))  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Attention, then feed-forward, each with a residual connection and a norm.

    Args:
        attention, feed_forward: the two parts.
        attention_norm, feed_forward_norm: one norm for each.
        dropout: on what each part adds, while training.
        pre_norm: norm before each part (GPT-2, ModernBERT) instead of after the sum (BERT).
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

    def forward(self, x: Tensor, mask: AttentionMask | None, plan: PositionPlan, layer: int) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        if self.pre_norm:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask, plan, layer))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))  # type: ignore[no-any-return]
        x = self.attention_norm(x + self.dropout(self.attention(x, mask, plan, layer)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]

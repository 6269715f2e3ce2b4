"""The parts of an encoder layer: attention, feed-forward, norms, and the layer that joins them.

Shape letters: N rows, L length, D width, H heads, Dh width of a head, M width of the feed-forward part, G global tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
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
    "GlobalTokens",
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


@dataclass(frozen=True)
class GlobalTokens:
    """Tokens that attend to everything, whatever the window (Longformer, Beltagy et al. 2020, arXiv 2004.05150).

    Attributes:
        index: int64 (N, G), where they stand in each row; rows with fewer repeat some other token.
        chosen: bool (N, G), False where `index` only fills up.
        mask: whom they may attend to; one query axis stands for all.
    """

    index: Tensor
    chosen: Tensor
    mask: AttentionMask

    @classmethod
    def of(cls, is_global: Tensor, mask: AttentionMask) -> GlobalTokens:
        """From bool (N, L), and the mask without any window."""
        most = int(is_global.sum(-1).max())
        chosen, index = is_global.to(torch.int8).sort(-1, descending=True, stable=True)
        index, chosen = index[:, :most], chosen[:, :most].bool()
        allowed = mask.allowed
        if allowed is not None and allowed.shape[2] > 1:
            rows = allowed.expand(len(index), -1, -1, -1)
            allowed = rows.gather(2, index[:, None, :, None].expand(-1, rows.shape[1], -1, rows.shape[3]))
        return cls(index, chosen, AttentionMask(allowed))

    def take(self, x: Tensor) -> Tensor:
        """The global tokens' rows of (1|N, H, L, ...): (N, H, G, ...)."""
        x = x.expand(len(self.index), *x.shape[1:])
        return x.gather(2, self._where(x))

    def put(self, x: Tensor, rows: Tensor) -> Tensor:
        """(N, H, L, Dh) with the global tokens' rows (N, H, G, Dh) in it."""
        kept = torch.where(self.chosen[:, None, :, None], rows, self.take(x))
        return x.scatter(2, self._where(x), kept)

    def _where(self, x: Tensor) -> Tensor:
        return self.index[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3])


class SelfAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al. 2017, arXiv 1706.03762).

    Args:
        width: D.
        heads: H.
        dropout: on attention weights, while training.
        bias: whether the four projections have one.
        head_width: Dh; None = D / H, which must then be whole.
        key_value_heads: heads of keys and values, each shared by H / this many neighbouring query heads (grouped
            queries, Ainslie et al. 2023, arXiv 2305.13245); None = H.
        global_projections: queries, keys and values of their own for global tokens (Longformer).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        head_width: int | None = None,
        key_value_heads: int | None = None,
        global_projections: bool = False,
    ) -> None:
        super().__init__()
        if head_width is None and width % heads:
            raise UsageError(f"`width` must be a multiple of `heads` ({heads}), but is {width} instead.")
        self.heads = heads
        self.key_value_heads = heads if key_value_heads is None else key_value_heads
        if heads % self.key_value_heads:
            raise UsageError(
                f"`heads` must be a multiple of `key_value_heads` ({self.key_value_heads}), but is {heads} instead."
            )
        self.dropout = dropout
        of_head = width // heads if head_width is None else head_width
        inner, shared = heads * of_head, self.key_value_heads * of_head
        self.query = nn.Linear(width, inner, bias=bias)
        self.key = nn.Linear(width, shared, bias=bias)
        self.value = nn.Linear(width, shared, bias=bias)
        self.output = nn.Linear(inner, width, bias=bias)
        self.global_query = nn.Linear(width, inner, bias=bias) if global_projections else None
        self.global_key = nn.Linear(width, shared, bias=bias) if global_projections else None
        self.global_value = nn.Linear(width, shared, bias=bias) if global_projections else None

    def forward(
        self,
        x: Tensor,
        mask: AttentionMask | None,
        plan: PositionPlan,
        layer: int,
        global_tokens: GlobalTokens | None = None,
    ) -> Tensor:
        """(N, L, D) -> (N, L, D). `layer` is this layer's number, for encodings that differ from layer to layer."""
        q, k, v = self._projected(x, self.query, self.key, self.value)
        q, k = plan.rotate(q, k, layer)
        value_term = plan.value_term(layer)
        dropout = self.dropout if self.training else 0.0
        bias = plan.content_bias(q, k, self._project_table, layer)
        out = attend(q, k, v, mask, bias=bias, dropout=dropout, scale=plan.scale, value_term=value_term)
        if global_tokens is not None and self.global_query is not None:
            if value_term is not None:
                raise UsageError(
                    "`position` must not speak to the values where there are global tokens, but does. Choose another "
                    "encoding, or 0 global tokens."
                )
            q, k, v = self._projected(x, self.global_query, self.global_key, self.global_value)
            q, k = plan.rotate(q, k, layer)
            bias = plan.content_bias(q, k, self._project_table, layer)
            bias = None if bias is None else global_tokens.take(bias)
            rows = attend(global_tokens.take(q), k, v, global_tokens.mask, bias=bias, dropout=dropout, scale=plan.scale)
            out = global_tokens.put(out, rows)
        out = out.transpose(1, 2).flatten(2)  # (N, H, L, Dh) -> (N, L, H * Dh)
        return self.output(out)  # type: ignore[no-any-return]

    def _projected(
        self, x: Tensor, query: nn.Module, key: nn.Module | None, value: nn.Module | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(N, L, D) -> three of (N, H, L, Dh)."""
        assert key is not None
        assert value is not None
        q = self._split(query(x), self.heads)
        return q, self._shared(key(x)), self._shared(value(x))

    def _project_table(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """(R, D) -> two of (H, R, Dh): a table of positions as this layer's queries and keys."""
        return self._split(self.query(table)[None], self.heads)[0], self._shared(self.key(table)[None])[0]

    def _shared(self, x: Tensor) -> Tensor:
        """Keys or values, once for each query head that shares them."""
        x = self._split(x, self.key_value_heads)
        return x if self.key_value_heads == self.heads else x.repeat_interleave(self.heads // self.key_value_heads, 1)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # (N, L, H * Dh) -> (N, H, L, Dh)


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

    def forward(self, x: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        return self.output(self.activation(self.inner(x)))  # type: ignore[no-any-return]


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

    def forward(
        self,
        x: Tensor,
        mask: AttentionMask | None,
        plan: PositionPlan,
        layer: int,
        global_tokens: GlobalTokens | None = None,
    ) -> Tensor:
        """(N, L, D) -> (N, L, D)."""
        if self.pre_norm:
            x = x + self.dropout(self.attention(self.attention_norm(x), mask, plan, layer, global_tokens))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))  # type: ignore[no-any-return]
        x = self.attention_norm(x + self.dropout(self.attention(x, mask, plan, layer, global_tokens)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]

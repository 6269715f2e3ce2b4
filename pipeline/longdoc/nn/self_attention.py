"""Self-attention of a layer: projections, heads, position, and tokens that see everything.

Shape letters: N rows, L length, D width, H heads, Dh width of a head, G global tokens of a row, R rows of a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.attend import attend
from longdoc.nn.mask import AttentionMask
from longdoc.nn.packed import LayerMask
from longdoc.nn.position.plan import PositionPlan
from longdoc.nn.products import product

__all__ = ["GlobalTokens", "SelfAttention"]


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
        most = max(1, int(is_global.sum(-1).max()))
        chosen, index = is_global.to(torch.int8).sort(dim=-1, descending=True, stable=True)
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
        query_norm, key_norm: on all queries, and all keys, of a token, before they are split into heads; None = none.
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
        query_norm: nn.Module | None = None,
        key_norm: nn.Module | None = None,
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
        self.query_norm = nn.Identity() if query_norm is None else query_norm
        self.key_norm = nn.Identity() if key_norm is None else key_norm
        self.global_query = nn.Linear(width, inner, bias=bias) if global_projections else None
        self.global_key = nn.Linear(width, shared, bias=bias) if global_projections else None
        self.global_value = nn.Linear(width, shared, bias=bias) if global_projections else None

    def forward(
        self,
        x: Tensor,
        mask: LayerMask | None,
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
        return product(self.output, out)

    def _projected(
        self, x: Tensor, query: nn.Module, key: nn.Module | None, value: nn.Module | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(N, L, D) -> three of (N, H, L, Dh)."""
        assert key is not None
        assert value is not None
        q = self._split(self.query_norm(product(query, x)), self.heads)
        return q, self._shared(self.key_norm(product(key, x))), self._shared(product(value, x))

    def _project_table(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """(R, D) -> two of (H, R, Dh): a table of positions as this layer's queries and keys."""
        q, k = self.query_norm(self.query(table)), self.key_norm(self.key(table))
        return self._split(q[None], self.heads)[0], self._shared(k[None])[0]

    def _shared(self, x: Tensor) -> Tensor:
        """Keys or values, once for each query head that shares them."""
        x = self._split(x, self.key_value_heads)
        return x if self.key_value_heads == self.heads else x.repeat_interleave(self.heads // self.key_value_heads, 1)

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # (N, L, H * Dh) -> (N, H, L, Dh)

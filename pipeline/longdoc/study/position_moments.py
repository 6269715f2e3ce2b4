"""What a position encoding says at each moment of a forward pass, as numbers.

Everything is asked through the moments that all kinds share, so a new kind is studied without a word here.

Shape letters: L positions, E width of the embeddings, H heads, Dh width of a head, R rows of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from longdoc.nn.position import Geometry, PositionEncoding
from longdoc.nn.position.plan import PositionPlan, ValueTerm

__all__ = ["DTYPES", "Moments", "by_distance", "moments_of"]

DTYPES: Mapping[str, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Moments:
    """What is said to L positions. None where nothing is.

    Attributes:
        added: (L, E), what is added to the embeddings.
        query, key: (L, Dh), a query and a key of ones as the layer turns them; (L, H * Dh) where heads differ.
        bias: (H, L, L), what is added to the scores for queries and keys of ones.
        values: (2L - 1, Dh), what is added to the result where all attention is on the key at distance -(L - 1) ...
            L - 1; (2L - 1, H * Dh) where heads differ.
    """

    added: Tensor | None = None
    query: Tensor | None = None
    key: Tensor | None = None
    bias: Tensor | None = None
    values: Tensor | None = None

    def spoken(self) -> dict[str, Tensor]:
        """The moments at which something is said, by the names of the fields."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def rows(self) -> dict[str, Tensor]:
        """What has one row for each position, by names for people."""
        named = {"what is added": self.added, "the turned query": self.query, "the turned key": self.key}
        return {name: values for name, values in named.items() if values is not None}


@torch.no_grad()
def moments_of(
    encoding: PositionEncoding,
    geometry: Geometry,
    positions: Tensor,
    layer: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Moments:
    """Ask an encoding what it says in one layer to activations of `dtype`. Positions: (1, L) or (A, 1, L)."""
    heads, length, head_width = geometry.heads, positions.shape[-1], geometry.head_width
    silent = torch.zeros(1, length, geometry.embedding_width, dtype=dtype)
    added = encoding.embed(silent, positions)[0]
    plan = encoding.plan(positions, dtype)
    ones = torch.ones(1, heads, length, head_width, dtype=dtype)
    query, key = plan.rotate(ones, ones, layer)
    bias = plan.content_bias(ones, ones, lambda table: _as_is(table.to(dtype), heads, head_width), layer)
    return Moments(
        added=added.double() if bool((added != 0).any()) else None,
        query=_one_row_each(query[0]) if bool((query != 1).any()) else None,
        key=_one_row_each(key[0]) if bool((key != 1).any()) else None,
        bias=None if bias is None else bias.expand(1, heads, length, length)[0],
        values=_values_by_distance(plan, ones, layer),
    )


def by_distance(bias: Tensor) -> Tensor:
    """(H, L, L) -> float64 (H, 2L - 1): the mean at key minus query = -(L - 1) ... L - 1."""
    length = bias.shape[-1]
    return torch.stack([bias.diagonal(d, 1, 2).double().mean(-1) for d in range(1 - length, length)], -1)


def _as_is(table: Tensor, heads: int, head_width: int) -> tuple[Tensor, Tensor]:
    """Stands in for a layer's projections (R, D) -> (H, R, Dh): the table itself, repeated where heads are wider."""
    needed = heads * head_width
    wide = table.repeat(1, -(-needed // table.shape[1]))[:, :needed]
    cut = wide.view(len(table), heads, head_width).transpose(0, 1)
    return cut, cut


def _one_row_each(x: Tensor) -> Tensor:
    """(H, L, Dh) -> float64 (L, Dh) where all heads agree, (L, H * Dh) where they differ."""
    if bool(((x == x[:1]) | (x.isnan() & x[:1].isnan())).all()):
        return x[0].double()
    return x.transpose(0, 1).flatten(1).double()


def _values_by_distance(plan: PositionPlan, ones: Tensor, layer: int) -> Tensor | None:
    term = plan.value_term(layer)
    if term is None:
        return None
    length = ones.shape[2]
    even = _with_all_attention_on(term, ones, torch.arange(length).flip(0))  # distances L - 1, L - 3 ... 1 - L
    found = torch.empty(ones.shape[1], 2 * length - 1, even.shape[-1], dtype=torch.float64)
    found[:, 0::2] = even.flip(1)
    if length > 1:
        between = torch.arange(length - 1).flip(0)  # distances L - 2, L - 4 ... 2 - L
        odd = _with_all_attention_on(term, ones, torch.cat([between, between.new_zeros(1)]))
        found[:, 1::2] = odd[:, : length - 1].flip(1)
    return _one_row_each(found) if bool((found != 0).any()) else None


def _with_all_attention_on(term: ValueTerm, ones: Tensor, keys: Tensor) -> Tensor:
    """float64 (H, L, Dh): what the term says where query i attends to key `keys[i]` alone."""
    _, heads, length, _ = ones.shape
    weights = ones.new_zeros(1, heads, length, length)
    weights[:, :, torch.arange(length), keys] = 1
    return term(weights)[0].double()

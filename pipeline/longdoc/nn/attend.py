"""Scaled dot-product attention: the one place where a mask and a bias meet a kernel.

Four paths, one result within round-off:

- torch's fused kernel, whenever nothing but the result is asked for;
- a compiled kernel of our own (`longdoc.nn.compiled`), where there is one and it is faster: with dropout on the CPU,
  which torch's kernel does not have there, and in bfloat16 on tiles;
- a kernel for texts behind each other without a mask (`longdoc.nn.packed`), on a GPU;
- written out (products, softmax, products), where the attention weights themselves are needed: for a value term, and
  for dropout on a CPU without a compiled kernel. torch's kernel falls back on a written-out form of its own; with
  cheap random bits ours takes 85 ms against 142 ms forward and backward (2 rows of 512 tokens, 12 heads of 32, one
  AVX2 core).

What both keep: a query without any key gives exactly 0 and sends finite gradients, in every dtype; NaN, infinity and
what multiplies to infinity (beyond 1e18) in a query, key or value reach, as NaN, the queries that may see them, and no
others, forward and backward.

Shape letters: N rows, H heads, L length, Dh width of a head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.compiled.attention import attend_compiled, level_for
from longdoc.nn.dropout import drop
from longdoc.nn.mask import AttentionMask
from longdoc.nn.packed import LayerMask, PackedMask, attend_packed
from longdoc.nn.position.plan import ValueTerm
from longdoc.nn.quarantine import quarantine, surely_harmless

__all__ = ["attend"]


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: LayerMask | None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    scale: float | None = None,
    value_term: ValueTerm | None = None,
) -> Tensor:
    """softmax(q k^T * scale + bias) v over the keys that `mask` allows.

    Args:
        q, k, v: (N, H, L, Dh) each.
        mask: who may attend to whom; None = everybody to everybody. A `PackedMask` where rows hold texts behind each
            other: then neither bias, nor dropout, nor value term.
        bias: floats that broadcast to (N, H, L, L), added to the scaled scores. Never a mask: use `mask`.
        dropout: probability with which an attention weight is zeroed. The caller says 0 in evaluation.
        scale: factor of the products; None = 1 / sqrt(Dh).
        value_term: added to the result as a function of the weights (N, H, L, L), for relative positions that speak
            to the values (Shaw et al. 2018, arXiv 1803.02155).

    Returns:
        (N, H, L, Dh), the dtype of `q`.
    """
    if isinstance(mask, PackedMask):
        if bias is not None or value_term is not None or dropout > 0:
            raise UsageError(
                "`bias`, `dropout` and `value_term` must be left out where `mask` is a PackedMask, but one is given. "
                "Use an AttentionMask."
            )
        return attend_packed(q, k, v, mask, scale)
    if mask is not None and not isinstance(mask, AttentionMask):
        raise UsageError(
            f"`mask` must be an AttentionMask or None, but is {type(mask).__name__} instead. Say what it means: "
            "`AttentionMask(allowed)` for True = may attend, `AttentionMask.from_masked(mask)` for True = masked."
        )
    if bias is not None and not bias.dtype.is_floating_point:
        raise UsageError(
            f"`bias` must be a floating type, but is {bias.dtype} instead. What forbids pairs is a mask: pass `mask`."
        )
    if mask is None or mask.allowed is None:
        return _attend(q, k, v, None, bias, dropout, scale, value_term)
    poisoned: Tensor | None = None
    if not surely_harmless(q, k, v):
        q, k, v, poisoned = quarantine(q, k, v, mask)
    out = _attend(q, k, v, mask, bias, dropout, scale, value_term).masked_fill(~mask.answerable, 0.0)
    return out if poisoned is None else out.masked_fill(poisoned, math.nan)


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: AttentionMask | None,
    bias: Tensor | None,
    dropout: float,
    scale: float | None,
    value_term: ValueTerm | None,
) -> Tensor:
    exact = torch.promote_types(q.dtype, torch.float32)
    if value_term is None and (level := level_for(q, k, v, bias, dropout)) is not None:
        return attend_compiled(level, q, k, v, _added_to_scores(mask, bias, torch.float32), dropout, scale)
    if value_term is not None or (dropout > 0 and q.device.type == "cpu"):
        wide = exact if q.dtype == torch.float16 else q.dtype  # float16 has no room for products of large numbers
        scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        scores = ((q.to(wide) * scale) @ k.to(wide).transpose(-1, -2)).to(exact)
        added = _added_to_scores(mask, bias, exact)
        if added is not None:
            scores = scores + added
        weights = drop(scores.softmax(-1), dropout).to(wide)
        out = weights @ v.to(wide)
        return (out if value_term is None else out + value_term(weights)).to(q.dtype)
    if bias is None:
        allowed = None if mask is None else mask.for_kernel
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=dropout, scale=scale)
    # Only the CPU kernel takes a bias that is finer than the queries.
    added = _added_to_scores(mask, bias, exact if q.device.type == "cpu" else q.dtype)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, dropout_p=dropout, scale=scale)


def _added_to_scores(mask: AttentionMask | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Mask and bias as one tensor of `dtype`, -inf where a pair is forbidden, whatever the bias holds there."""
    if mask is None:
        return None if bias is None else bias.to(dtype)
    if bias is None:
        return mask.scores(dtype)
    return bias.to(dtype).masked_fill(~mask.for_kernel, -math.inf)

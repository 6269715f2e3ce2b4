"""Which attention the compiled kernels compute, and how: forward, and backward where gradients are recorded.

They are taken where they were measured to be faster than torch's kernel and no less exact:

- with dropout, which torch's kernel for the CPU does not have: without them attention is written out, in several
  tensors of the size of all weights;
- in bfloat16 where the processor multiplies tiles of it (AMX) and no gradient is recorded: torch's kernel is bound by
  its softmax there.

Elsewhere torch's kernel is as fast (float32 without dropout: within a tenth on AVX2 and on AVX-512).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from longdoc.nn.compiled.library import Kernels, Level, library

__all__ = ["attend_compiled", "choose_level", "compiled_attention", "level_for"]

LONGEST = 8192
"""Keys of which the scores of a few queries still lie in the cache of a core."""

_LEVELS_OF_DROPOUT = 1 << 16
_LEARNING = (torch.float32, torch.bfloat16)


class _Switch(threading.local):
    is_on = True


_switch = _Switch()


@contextmanager
def compiled_attention(is_on: bool) -> Iterator[None]:
    """Inside, in this thread: whether the compiled kernels may be taken. They may where nobody says otherwise."""
    before = _switch.is_on
    _switch.is_on = is_on
    try:
        yield
    finally:
        _switch.is_on = before


def choose_level(dtype: torch.dtype, dropout: float, records: bool) -> Level | None:
    """The kernel for attention on the CPU, or None: torch's.

    Args:
        dtype: of queries, keys and values.
        dropout: on the weights.
        records: whether gradients are recorded.
    """
    drops = dropout > 0
    if drops and (dtype not in _LEARNING or round(dropout * _LEVELS_OF_DROPOUT) >= _LEVELS_OF_DROPOUT):
        return None
    if not drops and (dtype != torch.bfloat16 or records):
        return None
    kernels, _ = library()
    if kernels is None or not _switch.is_on:
        return None
    wanted = (Level.AVX512, Level.AVX2) if drops else (Level.AMX,)
    return next((level for level in wanted if level in kernels.levels), None)


def level_for(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout: float) -> Level | None:
    """The kernel that computes these tensors, or None where torch's attention is to be taken."""
    plain = all(type(x) is Tensor and x.device.type == "cpu" and x.dtype == q.dtype for x in (q, k, v))
    if not plain or k.shape[2] > LONGEST or 0 in (*q.shape, *k.shape) or torch.compiler.is_compiling():
        return None
    records = torch.is_grad_enabled()
    if records and bias is not None and bias.requires_grad:
        return None  # its gradient is as large as all weights
    return choose_level(q.dtype, dropout, records and any(x.requires_grad for x in (q, k, v)))


def attend_compiled(
    level: Level, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, dropout: float, scale: float | None
) -> Tensor:
    """softmax(q k^T * scale + added) v with dropout on the weights.

    Args:
        level: what `level_for` said.
        q: (N, H, Lq, Dh).
        k, v: (N, H, Lk, Dh).
        added: float32 that broadcasts to (N, H, Lq, Lk), -inf = may not attend.
        dropout: probability, rounded as `longdoc.nn.dropout.drop` does. One number of torch's generator begins it.
        scale: None = 1 / sqrt(Dh).

    Returns:
        (N, H, Lq, Dh), the dtype of `q`. A query without keys gives 0.
    """
    kernels, _ = library()
    assert kernels is not None
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    added = None if added is None else added.detach()
    if level == Level.AMX:
        return kernels.forward(level, _side_by_side(q), _side_by_side(k), _side_by_side(v), added, scale)[0]
    dropped = round(dropout * _LEVELS_OF_DROPOUT)
    seed = int(torch.randint(-(1 << 63), (1 << 63) - 1, ()))
    wide = [_side_by_side(x.float()) for x in (q, k, v)]
    records = torch.is_grad_enabled() and any(x.requires_grad for x in wide)
    out: Tensor = _Compiled.apply(*wide, added, kernels, level, scale, dropped, seed, records)  # type: ignore[no-untyped-call]
    return out.to(q.dtype)


def _side_by_side(x: Tensor) -> Tensor:
    return x if x.stride(-1) == 1 else x.contiguous()


class _Compiled(torch.autograd.Function):
    """The kernel as torch's autograd sees it."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, kernels: Kernels, level: Level, scale: float,
        dropped: int, seed: int, records: bool,
    ) -> Tensor:  # fmt: skip
        out, log_sums = kernels.forward(level, q, k, v, added, scale, dropped, seed, wants_log_sums=records)
        if records:
            ctx.save_for_backward(q, k, v, out, log_sums, *(() if added is None else (added,)))
            ctx.how = kernels, level, scale, dropped, seed
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, log_sums, *added = ctx.saved_tensors
        kernels, level, scale, dropped, seed = ctx.how
        grads = kernels.backward(
            level, q, k, v, out, log_sums, grad_out, added[0] if added else None, scale, dropped, seed
        )
        return *grads, None, None, None, None, None, None, None

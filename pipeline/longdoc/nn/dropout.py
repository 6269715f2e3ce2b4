"""Dropout whose random numbers are cheap on the CPU.

torch draws one Bernoulli number an element, one after the other: 70 ms for the 6.3 million attention weights of one
MiniLM layer (2 rows of 512 tokens, 12 heads, one AVX2 core), half of the time of that layer's attention, forward and
backward together. Sixteen bits of a 64-bit draw decide one element here: 6 ms. Other devices use torch's own.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError

__all__ = ["Dropout", "drop"]

_LEVELS = 1 << 16


def drop(x: Tensor, p: float) -> Tensor:
    """`x` with each element zeroed with probability `p`, the others divided by 1 - p.

    On the CPU `p` is rounded to a multiple of 1/65536, and the factor is that of the rounded probability, so the
    expectation is exact. Random bits come from torch's default generator: seeds and saved states replay them.
    """
    if p <= 0:
        return x
    if x.device.type != "cpu" or round(p * _LEVELS) >= _LEVELS or torch.compiler.is_compiling():
        return F.dropout(x, p)
    dropped = round(p * _LEVELS)
    count = math.prod(x.shape)
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    kept = bits.view(torch.int16)[:count].view(x.shape) >= dropped - _LEVELS // 2
    # Floats rather than booleans: one pass over the elements fewer in each direction.
    factors = torch.where(kept, _LEVELS / (_LEVELS - dropped), 0.0)
    return (x * factors).to(x.dtype)


class Dropout(nn.Module):
    """`drop` while training, the identity otherwise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise UsageError(f"`p` must be in [0, 1], but is {p} instead.")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        return f"p={self.p}"

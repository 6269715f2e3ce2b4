"""Arithmetic that stays in float32 or finer where a model computes in 16 bits.

What is done once a chunk or once a document (pooling, merging, scoring) costs nothing, and is where 16 bits would show.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["exact", "exact_linear", "wide"]


def exact(x: Tensor) -> Tensor:
    """`x` in float32, or finer where it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def exact_linear(linear: nn.Linear, x: Tensor) -> Tensor:
    """`linear(x)` in the dtype of `x`, whatever the dtype of the weights, also under autocast."""
    with torch.autocast(x.device.type, enabled=False):
        bias = None if linear.bias is None else linear.bias.to(x.dtype)
        return F.linear(x, linear.weight.to(x.dtype), bias)


def wide(x: Tensor) -> Tensor:
    """`x` in float64 where the device has it, else as it is."""
    return x if x.device.type == "mps" else x.double()

"""Products with weights, and the one place where an encoder's weights are prepared for them.

In bfloat16 on a CPU, autocast turns every weight into bfloat16 anew in each batch. Here each weight is turned once, and
put into the order that oneDNN's products read it in; the activation is computed in the same pass. The operations are
those that torch's own compiler uses (`torch._inductor`); where they are missing, or a layer is not a plain product,
nothing changes.

The prepared copy belongs to a version of its weight: weights that have learned since are prepared anew. What is written
through `weight.data`, which torch does not count, is not seen: write to the weight itself, under `torch.no_grad`.

Shape letters: N rows, L length, D width in, M width out.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["packed_products", "packs_products", "product"]

_FUSED = {"gelu": ("gelu", "none"), "gelu_tanh": ("gelu", "tanh"), "relu": ("relu", ""), "silu": ("swish", ""),
          "tanh": ("tanh", "")}  # fmt: skip
"""Activations that oneDNN computes within the product: its name and variant."""

_ROWS = 512
"""Rows that the order of the weights is chosen for: those of one full chunk."""


class _Format(threading.local):
    dtype: torch.dtype | None = None


@dataclass(frozen=True)
class _Packed:
    weight: Tensor
    bias: Tensor | None
    of: tuple[int, int, int, int | None]


_format = _Format()
_kept: weakref.WeakKeyDictionary[nn.Module, _Packed] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@contextmanager
def packed_products(dtype: torch.dtype | None) -> Iterator[None]:
    """Inside, in this thread: products with prepared weights of this number format; None = as torch does them."""
    before = _format.dtype
    _format.dtype = dtype
    try:
        yield
    finally:
        _format.dtype = before


def packs_products(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether weights are prepared: for bfloat16 on a CPU whose oneDNN knows it."""
    if device.type != "cpu" or dtype != torch.bfloat16 or not torch._C._has_mkldnn:
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise") and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def product(
    linear: nn.Module, x: Tensor, activation: Callable[[Tensor], Tensor] | None = None, name: str = ""
) -> Tensor:
    """activation(linear(x)).

    Args:
        linear: D -> M.
        x: (N, L, D).
        activation: applied to each number; None = none.
        name: of the activation in `longdoc.nn.layers.ACTIVATIONS`.

    Returns:
        (N, L, M).
    """
    dtype = _format.dtype
    if dtype is None or not _is_plain(linear, x) or (activation is not None and name not in _FUSED):
        y = linear(x)
        return y if activation is None else activation(y)
    assert isinstance(linear, nn.Linear)
    packed = _packed(linear, dtype)
    fused, variant = ("none", "") if activation is None else _FUSED[name]
    with torch.autocast("cpu", enabled=False):
        return torch.ops.mkldnn._linear_pointwise(  # type: ignore[no-any-return]
            x.to(dtype), packed.weight, packed.bias, fused, [], variant
        )


def _is_plain(linear: nn.Module, x: Tensor) -> bool:
    """A product and nothing else: no correction of it, no hook, no weight that lies elsewhere, no gradient."""
    if type(linear) is not nn.Linear or torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    if linear._forward_hooks or linear._forward_pre_hooks or hasattr(linear, "_hf_hook"):
        return False
    return type(x) is Tensor and x.device.type == linear.weight.device.type == "cpu" and x.numel() > 0


def _packed(linear: nn.Linear, dtype: torch.dtype) -> _Packed:
    weight, bias = linear.weight, linear.bias
    of = (weight.data_ptr(), _version(weight), 0 if bias is None else bias.data_ptr(), _version(bias))
    found = _kept.get(linear)
    if found is None or found.of != of:
        with _lock:
            found = _kept.get(linear)
            if found is None or found.of != of:
                ordered = torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype).contiguous(), _ROWS)
                found = _Packed(ordered, None if bias is None else bias.detach().to(dtype), of)
                _kept[linear] = found
    return found


def _version(x: Tensor | None) -> int:
    """How often it was written to; tensors made in inference mode do not count."""
    return 0 if x is None or x.is_inference() else x._version

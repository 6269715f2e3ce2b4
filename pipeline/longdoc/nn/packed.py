"""Attention over texts that stand behind each other in one long row: no mask, no padding, nothing across a border.

On a GPU this is the variable-length kernel of torch (`torch.nn.attention.varlen`, FlashAttention-2: Dao 2023, arXiv
2307.08691). Elsewhere the same is computed text by text: the reference that tests compare with, and slow.

Shape letters: T tokens, H heads, Dh width of a head.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from longdoc.nn.mask import AttentionMask
from longdoc.packing import Packing

__all__ = ["LayerMask", "PackedMask", "attend_packed", "fits_kernel", "kernel_works"]

_HALF = (torch.bfloat16, torch.float16)
_EVERYTHING = -1


@dataclass(frozen=True, eq=False)
class PackedMask:
    """Who may attend to whom among packed texts: tokens of the own text, at most so many before and behind.

    Attributes:
        packing: where texts begin and end.
        before, behind: how far a token sees in its text; -1 = to its end.
    """

    packing: Packing
    before: int = _EVERYTHING
    behind: int = _EVERYTHING

    def within(self, positions: Tensor) -> AttentionMask:
        """The same for one text: positions (1, L) of its tokens."""
        mask = AttentionMask()
        if self.behind == 0:
            mask = mask & AttentionMask.causal(positions)
        if self.before != _EVERYTHING:
            mask = mask & AttentionMask.sliding_window(positions, self.before)
        return mask


LayerMask = AttentionMask | PackedMask
"""What a layer is told of who may attend to whom."""


def fits_kernel(head_width: int) -> bool:
    """Whether heads are of a width that the kernel takes."""
    return head_width % 8 == 0 and head_width <= 256


def attend_packed(q: Tensor, k: Tensor, v: Tensor, mask: PackedMask, scale: float | None = None) -> Tensor:
    """softmax(q k^T * scale) v, each text by itself.

    Args:
        q, k, v: (N, H, L, Dh), whose N * L = T tokens stand behind each other, row by row.
        mask: where texts begin and end, and how far a token sees.
        scale: None = 1 / sqrt(Dh).

    Returns:
        (N, H, L, Dh), the dtype of `q`. On a GPU computed in 16 bits with sums in float32.
    """
    rows, _, length, _ = q.shape
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
    if q.device.type == "cuda":
        half = next((x.dtype for x in (v, q) if x.dtype in _HALF), torch.bfloat16)
        out = _kernel(q.to(half), k.to(half), v.to(half), mask, scale).to(q.dtype)
    else:
        out = _text_by_text(q, k, v, mask, scale)
    return out.view(rows, length, *out.shape[1:]).transpose(1, 2)


def _kernel(q: Tensor, k: Tensor, v: Tensor, mask: PackedMask, scale: float | None) -> Tensor:
    """(T, H, Dh) each. One split of the keys: a text's bits must not depend on the longest beside it."""
    from torch.nn.attention.varlen import varlen_attn

    bounds, longest = mask.packing.bounds, mask.packing.longest
    window = (mask.before, mask.behind)
    found = varlen_attn(q, k, v, bounds, bounds, longest, longest, scale=scale, window_size=window, num_splits=1)
    assert isinstance(found, Tensor)
    return found


def _text_by_text(q: Tensor, k: Tensor, v: Tensor, mask: PackedMask, scale: float | None) -> Tensor:
    """(T, H, Dh) each."""
    bounds = mask.packing.bounds.tolist()
    found = []
    for start, end in itertools.pairwise(bounds):
        queries, keys, values = (x[start:end].transpose(0, 1)[None] for x in (q, k, v))
        allowed = mask.within(torch.arange(end - start, device=q.device)[None]).allowed
        found.append(F.scaled_dot_product_attention(queries, keys, values, allowed, scale=scale)[0].transpose(0, 1))
    return torch.cat(found)


@cache
def kernel_works(device: torch.device) -> str:
    """Empty where the kernel gives on this device what is computed text by text, else why it is not taken."""
    if device.type != "cuda":
        return "there is none for this device"
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 48, 32, generator=generator) for _ in range(3))
    packing = Packing.of([33, 7, 8], 3, 33, keeps_padding=False)
    for window in (_EVERYTHING, 5):
        mask = PackedMask(packing, window, window)
        expected = attend_packed(q, k, v, mask)
        try:
            with torch.inference_mode():
                there = PackedMask(packing.to(device), window, window)
                on_device = [x.to(device, torch.bfloat16) for x in (q, k, v)]
                found = attend_packed(on_device[0], on_device[1], on_device[2], there).float().cpu()
        except (ImportError, RuntimeError, TypeError, ValueError) as error:
            return f"this torch or this device does not have it ({type(error).__name__})"
        if not torch.allclose(found, expected, atol=0.05, rtol=0.05):
            return "it gave other numbers on a small problem"
    return ""

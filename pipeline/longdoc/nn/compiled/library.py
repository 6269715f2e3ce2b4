"""The compiled attention: where its file lies, what of it runs here, and calls to it.

`attention.cpp` is compiled when the project is installed where there is a compiler; nothing needs it. Its functions
are plain C, called without Python's lock, so that threads compute side by side.

Shape letters: N rows, H heads, Lq queries, Lk keys, Dh width of a head.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import itertools
import math
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path

import torch
from torch import Tensor

__all__ = ["Kernels", "Level", "library", "open_library"]

ABI = 1


class Level(IntFlag):
    """Instructions that a kernel needs: the bits of `attention.h`."""

    AVX2 = 1
    AVX512 = 2
    AMX = 4


_Strides = ctypes.c_int64 * 3


class _Attention(ctypes.Structure):
    """`struct Attention` of attention.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("q", "k", "v", "out", "added", "log_sums")),
        *((name, ctypes.c_void_p) for name in ("grad_out", "grad_q", "grad_k", "grad_v")),
        *((name, ctypes.c_int64) for name in ("rows", "heads", "queries", "keys", "width")),
        *((f"{name}_stride", _Strides) for name in ("q", "k", "v", "out", "added")),
        *((f"{name}_stride", _Strides) for name in ("grad_out", "grad_q", "grad_k", "grad_v")),
        ("seed", ctypes.c_uint64),
        ("scale", ctypes.c_float),
        ("dropped", ctypes.c_int32),
        ("level", ctypes.c_int32),
    ]


@dataclass(frozen=True)
class Kernels:
    """A library that is open.

    Attributes:
        path: its file.
        levels: the kernels that this processor runs.
    """

    path: Path
    levels: Level
    _functions: ctypes.CDLL

    def forward(
        self,
        level: Level,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        added: Tensor | None,
        scale: float,
        dropped: int = 0,
        seed: int = 0,
        wants_log_sums: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """softmax(q k^T * scale + added) v.

        Args:
            level: one kernel.
            q: (N, H, Lq, Dh), float32, or bfloat16 for `Level.AMX`; the last axis lies side by side, as in k and v.
            k, v: (N, H, Lk, Dh), of the dtype of `q`.
            added: float32, broadcasts to (N, H, Lq, Lk), -inf = may not attend.
            scale: of the products.
            dropped: of 65,536 weights so many are zeroed, the others grow; not with `Level.AMX`.
            seed: of what is zeroed.
            wants_log_sums: whether `backward` will need them.

        Returns:
            (N, H, Lq, Dh), which lies in memory as (N, Lq, H, Dh); and the sums of the softmax as base-2 logarithms,
            (N, H, Lq), empty where they are not wanted. A query without keys gives 0.

        Raises:
            MemoryError: there is none for the scores.
        """
        rows, heads, queries, width = q.shape
        out = torch.empty((rows, queries, heads, width), dtype=q.dtype).transpose(1, 2)
        log_sums = torch.empty((rows, heads, queries) if wants_log_sums else 0)
        call, kept = self._call(level, q, k, v, out, added, log_sums, scale, dropped, seed)
        self._run(self._functions.longdoc_attend, call, rows * heads)
        del kept
        return out, log_sums

    def backward(
        self,
        level: Level,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        out: Tensor,
        log_sums: Tensor,
        grad_out: Tensor,
        added: Tensor | None,
        scale: float,
        dropped: int = 0,
        seed: int = 0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of q, k and v, float32; all arguments as they were in `forward`, with its results."""
        call, kept = self._call(level, q, k, v, out, added, log_sums, scale, dropped, seed)
        grad_q, grad_k, grad_v = (torch.empty_like(x.transpose(1, 2)).transpose(1, 2) for x in (q, k, v))
        if grad_out.stride(-1) != 1:
            grad_out = grad_out.contiguous()
        for name, tensor in (("grad_out", grad_out), ("grad_q", grad_q), ("grad_k", grad_k), ("grad_v", grad_v)):
            _point(call, name, tensor)
        self._run(self._functions.longdoc_attend_backward, call, q.shape[0] * q.shape[1])
        del kept
        return grad_q, grad_k, grad_v

    def _call(
        self, level: Level, q: Tensor, k: Tensor, v: Tensor, out: Tensor, added: Tensor | None, log_sums: Tensor,
        scale: float, dropped: int, seed: int,
    ) -> tuple[_Attention, Tensor | None]:  # fmt: skip
        """What C is told, and a tensor that must live as long."""
        call = _Attention(rows=q.shape[0], heads=q.shape[1], queries=q.shape[2], keys=k.shape[2], width=q.shape[3])
        for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out)):
            _point(call, name, tensor)
        if added is not None:
            if added.stride(-1) != 1 and added.shape[-1] > 1:
                added = added.contiguous()
            added = added.expand(*q.shape[:3], k.shape[2])
            if added.stride(-1) != 1 and added.shape[-1] > 1:  # one number for all keys
                added = added.contiguous()
            _point(call, "added", added)
        call.log_sums = log_sums.data_ptr() if log_sums.numel() else None
        call.scale, call.dropped, call.seed, call.level = scale, dropped, seed, int(level)
        return call, added

    def _run(self, function: ctypes._NamedFuncPointer, call: _Attention, heads: int) -> None:
        """All heads, shared among as many threads as one operation of torch would have. Threads change no bits."""
        threads = min(torch.get_num_threads(), heads)
        if threads <= 1:
            _raise_for(function(ctypes.byref(call), 0, heads))
            return
        bounds = [heads * n // threads for n in range(threads + 1)]
        parts = list(itertools.pairwise(bounds))
        others = [_pool(os.getpid()).submit(function, ctypes.byref(call), *part) for part in parts[1:]]
        statuses = [function(ctypes.byref(call), *parts[0]), *(other.result() for other in others)]
        for status in statuses:
            _raise_for(status)


def _point(call: _Attention, name: str, tensor: Tensor) -> None:
    setattr(call, name, tensor.data_ptr())
    setattr(call, f"{name}_stride", _Strides(*tensor.stride()[:3]))


def _raise_for(status: int) -> None:
    if status:
        raise MemoryError("there is no memory for the scores of attention")


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process; a fork has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count() or 1, "longdoc-attention")


def open_library(path: Path) -> Kernels:
    """Open a compiled file.

    Raises:
        OSError: it is no library of this processor and system, or one of another version.
    """
    _refuse_torn(path)
    functions = ctypes.CDLL(str(path))
    try:
        abi, size = functions.longdoc_attention_abi(), functions.longdoc_attention_size()
    except AttributeError:
        raise OSError("it lacks the functions") from None
    if (abi, size) != (ABI, ctypes.sizeof(_Attention)):
        raise OSError(f"it is of version {abi}, not {ABI}")
    for name in ("longdoc_attend", "longdoc_attend_backward"):
        getattr(functions, name).argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    return Kernels(path, Level(functions.longdoc_attention_levels()), functions)


def _refuse_torn(path: Path) -> None:
    """A library whose end is missing would not be refused by the system, but end the process at its first use."""
    with path.open("rb") as file:
        header = file.read(64)
    if len(header) == 64 and header[:6] == b"\x7fELF\x02\x01":  # 64 bits, little-endian: its table of parts comes last
        (start,), (size, count) = struct.unpack_from("<Q", header, 40), struct.unpack_from("<HH", header, 58)
        if path.stat().st_size < start + size * count:
            raise OSError("its end is missing")


@functools.cache
def library() -> tuple[Kernels | None, str]:
    """The library that was compiled with this installation, or None; and why so, in words."""
    folder = Path(__file__).parent
    found = [folder / f"_attention{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
    present = [path for path in found if path.is_file()]
    if not present:
        return None, "it was not compiled when this was installed"
    try:
        kernels = open_library(present[0])
    except OSError as error:
        return None, f"it cannot be opened: {error}"
    if not kernels.levels:
        return None, "this processor lacks the instructions (AVX2 and FMA)"
    wrong = [level for level in kernels.levels if not _agrees(kernels, level)]
    if wrong:
        return None, f"it does not compute what torch does here ({', '.join(level.name or '' for level in wrong)})"
    return kernels, "compiled, and equal to torch's on a small problem"


def _agrees(kernels: Kernels, level: Level) -> bool:
    """Whether a kernel gives what torch gives, on a problem with ends that fill no vector."""
    generator = torch.Generator().manual_seed(0)
    dtype, tolerance = (torch.bfloat16, 3e-2) if level == Level.AMX else (torch.float32, 1e-5)
    q, k, v = (torch.randn(2, 3, 37, 24, generator=generator, dtype=torch.float32).to(dtype) for _ in range(3))
    added = torch.zeros(2, 1, 1, 37, dtype=torch.float32)
    added[1, ..., 30:] = -math.inf
    with torch.no_grad(), torch.autocast("cpu", enabled=False):  # whoever asks first may be in the middle of bfloat16
        out, _ = kernels.forward(level, q, k, v, added, 0.2)
        right = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), added, scale=0.2)
    return bool(((out.float() - right).abs() < tolerance).all())

"""What becomes of memory that was freed: kept for the next operation, or given back to the system.

glibc gives large freed blocks back at once and takes them anew in the next operation, page after page. While a model
learns, that was a quarter of the time of the cores and more (137,000 page faults a second). Here such blocks are kept
until a training is over.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["kept_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of `mallopt`, from glibc's malloc.h."""


@contextmanager
def kept_freed_memory(is_on: bool = True) -> Iterator[bool]:
    """Inside, what is freed is kept for what comes next, in this whole process; at the end it is given back.

    The peak of memory stays what it is, but is not left before the end.

    Args:
        is_on: whether to do it at all.

    Yields:
        Whether it is done: not without glibc, and not where the environment says how memory is to be treated.
    """
    mallopt, trim = (_of_glibc("mallopt"), _of_glibc("malloc_trim")) if is_on and not _is_told() else (None, None)
    if mallopt is None or trim is None or not mallopt(_MMAP_THRESHOLD, 1 << 30):
        yield False
        return
    mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    try:
        yield True
    finally:
        # To what glibc comes by itself in a process that uses large blocks.
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 64 << 20)
        trim(0)


def _is_told() -> bool:
    """Whether the environment has settings of this kind, or another allocator."""
    names = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "LD_PRELOAD")
    return any(os.environ.get(name) for name in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")


def _of_glibc(name: str) -> Callable[..., int] | None:
    if platform.libc_ver()[0] != "glibc":
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    return function

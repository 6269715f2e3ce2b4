"""One training at a time in a process: its threads have one random state among them, which seeds decide on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_at_a_time"]

_turn = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other thread trains, and let none begin until the block ends."""
    with _turn:
        yield

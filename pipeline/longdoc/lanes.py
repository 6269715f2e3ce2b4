"""Several batches under way at once, each alone on one core of the CPU.

Threads that share one operation wait for each other at its end, and for milliseconds where anything else runs on the
machine. And a product that several threads share adds up in another order than one that a single thread computes, where
it is large enough (768 x 3072, say): on one core each, a batch has the same bits however many are under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

__all__ = ["in_lanes"]

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


def in_lanes(
    work: Callable[[_Item], _Found], items: Iterable[_Item], lanes: int, device: torch.device
) -> Iterator[_Found]:
    """`work` of each item, in the order of the items.

    Args:
        work: called in threads of their own, each of which has one core.
        items: taken a few ahead.
        lanes: how many are under way at once.
        device: that `work` computes on.
    """
    threads = torch.get_num_threads()
    under_way: deque[Future[_Found]] = deque()

    def first() -> _Found:
        found = under_way.popleft().result()
        torch.set_num_threads(threads)  # a lane sets it for the whole process, and whoever gets this may wait long
        return found

    with ThreadPoolExecutor(lanes, "longdoc-encode", initializer=_begin, initargs=(device,)) as pool:
        try:
            for item in items:
                under_way.append(pool.submit(work, item))
                if len(under_way) > 2 * lanes:
                    yield first()
            while under_way:
                yield first()
        finally:
            for future in under_way:  # nobody will ask for them
                future.cancel()
            torch.set_num_threads(threads)


def _begin(device: torch.device) -> None:
    """In a thread of its own, which knows neither how many threads it may start nor which GPU is its process's."""
    torch.set_num_threads(1)
    if device.type == "cuda":
        torch.cuda.set_device(device)

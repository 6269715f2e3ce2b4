"""Modules that have shapes and no values yet: for weights from a file, or for a look at what would be built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["shapes_only"]

_DRAWS = ("normal_", "uniform_")


@contextmanager
def shapes_only() -> Iterator[None]:
    """Parameters of modules that are built within the block are on the device `meta`, and nothing is drawn for them.

    Drawing on that device gives nothing either, but PyTorch imports its compiler for it (2.13): 110 MB and a second.
    """
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if getattr(func, "__module__", None) == "torch.nn.init" or getattr(func, "__name__", None) in _DRAWS:
            return args[0] if args else given["tensor"]
        return func(*args, **given)

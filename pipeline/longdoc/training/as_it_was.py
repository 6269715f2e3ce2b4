"""A run that fails before its first step leaves its folder as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from longdoc.launched import speaks_for_all

__all__ = ["AsItWas"]

_FILES = ("config.resolved.yaml", "metrics.jsonl")


class AsItWas:
    """Within the block, a run writes its first files; where it ends by an error before `begun`, they are undone.

    Args:
        folder: the run's.

    Attributes:
        begun: whether there is something to keep, asked at the end; set it once the run knows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun: Callable[[], bool] = lambda: False
        self._before: dict[str, bytes] = {}

    def __enter__(self) -> AsItWas:
        self._before = {name: path.read_bytes() for name in _FILES if (path := self.folder / name).is_file()}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or self.begun() or not speaks_for_all():
            return
        with suppress(OSError):  # the error that ended the run is the one to be told
            for name in _FILES:
                if name in self._before:
                    (self.folder / name).write_bytes(self._before[name])
                else:
                    (self.folder / name).unlink(missing_ok=True)

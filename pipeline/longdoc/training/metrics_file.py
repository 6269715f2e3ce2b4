"""`metrics.jsonl`: what a run measured, one object a line."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from longdoc.files import cannot_write

__all__ = ["MetricsFile"]

_log = logging.getLogger(__name__)


class MetricsFile:
    """Numbers only, each line whole, on the disk when the block ends.

    Args:
        path: of the file.
        active: False on processes that write nothing.
        kept: bytes of it that stay, from the start: what a run that goes on had written by its checkpoint.
        also: hears each line that is written.
    """

    def __init__(
        self, path: Path, active: bool, kept: int = 0, also: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self.path, self.active, self.kept, self.also = path, active, kept, also
        self.file: IO[str] | None = None

    def __enter__(self) -> MetricsFile:
        if self.active:
            try:
                self.file = self.path.open("a" if self.kept else "w", encoding="utf-8")
                if self.kept:
                    self._cut()
            except OSError as error:
                raise cannot_write(self.path, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.settle()
            self.file.close()

    def _cut(self) -> None:
        assert self.file is not None
        there = os.fstat(self.file.fileno()).st_size
        if there < self.kept:
            _log.warning("%s is shorter than it was: lines of before the stop are missing", self.path)
            self.file.truncate(self.path.read_bytes().rfind(b"\n") + 1)  # not half of one
        else:
            self.file.truncate(self.kept)

    def settle(self) -> int:
        """Bring the lines to the disk; how many bytes they have."""
        if self.file is None:
            return 0
        self.file.flush()
        os.fsync(self.file.fileno())
        return os.fstat(self.file.fileno()).st_size

    def write(self, **values: Any) -> None:
        """Add a line."""
        if self.file is not None:
            try:
                self.file.write(json.dumps(values) + "\n")
                self.file.flush()
            except OSError as error:
                raise cannot_write(self.path, error) from None
            if self.also is not None:
                self.also(values)

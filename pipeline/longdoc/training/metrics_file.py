"""`metrics.jsonl`: what a run measured, one object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

from longdoc.files import cannot_write

__all__ = ["MetricsFile"]


class MetricsFile:
    """Numbers only, each line whole, on the disk when the block ends.

    Args:
        path: of the file, replaced.
        active: False on processes that write nothing.
    """

    def __init__(self, path: Path, active: bool) -> None:
        self.path, self.active = path, active
        self.file: IO[str] | None = None

    def __enter__(self) -> MetricsFile:
        if self.active:
            try:
                self.file = self.path.open("w", encoding="utf-8")
            except OSError as error:
                raise cannot_write(self.path, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()

    def write(self, **values: Any) -> None:
        """Add a line."""
        if self.file is not None:
            try:
                self.file.write(json.dumps(values) + "\n")
                self.file.flush()
            except OSError as error:
                raise cannot_write(self.path, error) from None

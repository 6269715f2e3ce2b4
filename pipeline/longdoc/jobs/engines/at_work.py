"""Announcements of processes that are not the leader: one small file each, which names the part it is at work on.

The leader's own counts are in one file that nobody else may write; when a process died, its announcement is still
there, and the next run's leader counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longdoc.files import unlink, write_bytes
from longdoc.jobs.attempts import Attempts
from longdoc.jobs.names import work_folder

__all__ = ["announced", "count_deaths"]

_PREFIX = "at-work-"


@contextmanager
def announced(output: Path, process: int, part: int) -> Iterator[None]:
    """While the block runs, it is written down that a process is at work on a part. An error in the block is no death.

    Raises:
        CannotWriteError: it cannot be written down.
    """
    path = work_folder(output) / f"{_PREFIX}{process}"
    write_bytes(path, str(part).encode("ascii"))
    try:
        yield
    finally:
        unlink(path)


def count_deaths(output: Path, attempts: Attempts) -> None:
    """Take over what processes of earlier runs have left behind. Call it with the lock held, before others start."""
    for path in sorted(work_folder(output).glob(f"{_PREFIX}*")):
        with suppress(OSError, ValueError):
            attempts.start(int(path.read_text("ascii")))
        unlink(path)

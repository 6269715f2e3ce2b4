"""Files that appear whole or not at all, and survive a power cut from then on.

A commit is: temporary file in `.work/` (same file system) -> write -> fsync -> rename -> fsync of the folder. A reader
sees the old state or the new one; what it has seen once survives a power cut.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from longdoc.errors import CannotWriteError

__all__ = [
    "MANIFEST_NAME",
    "PART_PATTERN",
    "PLAN_NAME",
    "cannot_write",
    "sync_folder",
    "unlink",
    "work_folder",
    "write_atomically",
]

PLAN_NAME = "_plan.json"
MANIFEST_NAME = "_manifest.json"
PART_PATTERN = "part-*"
_WORK_NAME = ".work"


def work_folder(output: Path) -> Path:
    """Where a job keeps what is not for readers: temporary files, the lock, the attempt counts."""
    return output / _WORK_NAME


def write_atomically(path: Path, data: bytes, work: Path) -> None:
    """Put `data` under the name `path`, durably, replacing what was there.

    Args:
        work: a folder on the same file system for the temporary file; it may be the folder of `path` itself.

    Raises:
        CannotWriteError: disk full, read-only, no permission, device fault. Nothing half-written is left under `path`.
    """
    # The process id keeps two writers of one part apart: a worker that outlived its parent and its successor.
    temporary = work / f".{path.name}.{os.getpid()}.tmp"
    try:
        try:
            _write_durably(temporary, data)
            os.replace(temporary, path)  # noqa: PTH105  one os layer, where tests make its calls fail
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def _write_durably(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable: a rename alone may be forgotten in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unlink(path: Path) -> None:
    """Remove `path`, durably; it may be absent."""
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> CannotWriteError:
    """The sentence for a failed write: which path, why, and how much room there is."""
    code = errno.errorcode.get(error.errno or 0, "unknown error")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    room = ""
    for folder in path.parents:
        with suppress(OSError):
            room = f"; {shutil.disk_usage(folder).free:,} bytes are free there"
            break
    return CannotWriteError(
        f"{path} cannot be written: {reason} ({code}){room}. Make room or grant the permission, then run the same "
        "command again: finished parts are kept."
    )

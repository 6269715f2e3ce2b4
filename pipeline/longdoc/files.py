"""Writing small files so that a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

from longdoc.errors import CannotWriteError

__all__ = ["cannot_write", "write_bytes", "write_text"]

_WRITE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG})


def write_text(path: Path, text: str) -> None:
    """UTF-8, flushed to the disk, then renamed into place.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk; the old file is untouched.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """As `write_text`, for bytes."""
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        temporary = None
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def cannot_write(path: Path, error: OSError) -> Exception:
    """The error to raise for an `OSError` met while writing `path`: ours where the cause is the disk or permissions."""
    if error.errno not in _WRITE_ERRORS and not isinstance(error, FileNotFoundError | NotADirectoryError):
        return error
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(path.parent).free
        return CannotWriteError(
            f"cannot write {path}: {os.strerror(error.errno or 0)} ({free:,} bytes free). "
            "Make room or choose another output, then run the same command again."
        )
    return CannotWriteError(f"cannot write {path}: {os.strerror(error.errno or 0)}. Choose another output.")

"""Files and folders that appear whole or not at all, and survive a power cut from then on.

A commit is: temporary file on the same file system -> write -> fsync -> rename -> fsync of the folder. A reader sees
the old state or the new one; what it has seen once survives a power cut. Every writer of the package comes here.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from longdoc.errors import CannotWriteError, UsageError

__all__ = [
    "cannot_write",
    "check_file_output",
    "check_folder_output",
    "make_folder",
    "only_writer",
    "replacing",
    "sync",
    "unlink",
    "write_bytes",
    "write_folder",
    "write_text",
]

_CANNOT_TELL = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)  # of file systems without such files
_LONGEST_NAME = 230  # bytes; file systems allow 255, and temporary files have longer names than what they become


def check_file_output(path: Path, name: str = "output") -> None:
    """Refuse a file that could not be written, before the long part that makes its content. Writes nothing.

    Raises:
        UsageError: `path` is a folder, its folder does not exist, or its name is too long.
        CannotWriteError: its folder takes no files.
    """
    _check_name(path, name)
    if path.is_dir():
        raise UsageError(f"`{name}` must be a file, but {path} is a folder. Name a file in it.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"`{name}` must be in a folder that exists, but there is no folder {folder}. Create it first.")
    _check_writable(path, folder)


def check_folder_output(path: Path, name: str = "output", *, written: bool = True) -> None:
    """Refuse a folder that could not be made or filled, before the long part. Writes nothing.

    Args:
        written: False where the folder may turn out to be complete: then it need not be writable.

    Raises:
        UsageError: `path` or a part of it is a file, or its name is too long.
        CannotWriteError: no files can be put there.
    """
    _check_name(path, name)
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if os.path.lexists(folder))
    if not there.is_dir():
        raise UsageError(f"`{name}` must be a folder, but {there} is a file. Name another folder.")
    if written:
        _check_writable(path, there)


def _check_name(path: Path, name: str) -> None:
    longest = max(len(os.fsencode(part)) for part in path.absolute().parts)
    if longest > _LONGEST_NAME:
        raise UsageError(f"names in `{name}` must have at most {_LONGEST_NAME} bytes, but one has {longest} instead.")


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise cannot_write(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    try:
        _try_file_without_name(folder)
    except OSError as error:
        if error.errno not in _CANNOT_TELL:
            raise cannot_write(path, error) from None
        trial = folder / f".{uuid.uuid4().hex[:12]}.tmp"
        try:
            trial.mkdir()
            trial.rmdir()
        except OSError as refused:
            raise cannot_write(path, refused) from None


def _try_file_without_name(folder: Path) -> None:
    """Nobody ever sees it. A folder may look writable and take no file: /proc, a full disk."""
    kind = getattr(os, "O_TMPFILE", None)  # Linux
    if kind is None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    os.close(os.open(folder, kind | os.O_WRONLY, 0o600))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing.

    Raises:
        CannotWriteError: no permission, a file in the way, or a failing disk.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Make `folder` where it is missing, and keep every other run out of it until the block ends, however it ends.

    The lock is on the folder itself, so none is left behind. A folder that was made here and is still empty in the end
    is removed.

    Raises:
        UsageError: another run is writing there.
        CannotWriteError: the folder cannot be made.
    """
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        busy = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = True
        except OSError:
            pass  # a file system without locks: nothing can be known about others
        if busy or not _is_still(folder, descriptor):
            raise UsageError(
                f"`output` must be a folder that no other run writes to, but one is at work in {folder}. Wait for it, "
                "or name another."
            )
        try:
            yield
        finally:
            if made:
                with suppress(OSError):
                    folder.rmdir()
    finally:
        os.close(descriptor)


def _is_still(folder: Path, descriptor: int) -> bool:
    """Whether `folder` is what was opened: a run that failed may have removed it in between."""
    try:
        return os.path.samestat(os.stat(folder), os.fstat(descriptor))  # noqa: PTH116  beside its twin for descriptors
    except OSError:
        return False


def write_text(path: Path, text: str) -> None:
    """`write_bytes` for text, as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes, work: Path | None = None) -> None:
    """Put `data` under the name `path`, durably, replacing what was there.

    Args:
        work: a folder on the same file system for the temporary file; None = the folder of `path` itself.

    Raises:
        CannotWriteError: disk full, read-only, no permission, device fault. Nothing half-written is left under `path`.
    """
    with replacing(path, work) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file.fileno(), rest) :]


@contextmanager
def replacing(path: Path, work: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write to, which takes the name `path` when the block ends well and is gone when it does not.

    Args and errors: as `write_bytes`.
    """
    # Two writers of one file are kept apart: a worker that outlived its parent and its successor, who may be processes
    # of one number on two machines.
    temporary = (path.parent if work is None else work) / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)  # noqa: PTH105  one os layer, where tests make its calls fail
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def sync(path: Path) -> None:
    """Bring a file to the disk, or the names in a folder: a rename alone may be forgotten in a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unlink(path: Path) -> None:
    """Remove `path`, durably; it may be absent.

    Raises:
        CannotWriteError: no permission, or a failing disk.
    """
    try:
        path.unlink(missing_ok=True)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def write_folder(
    folder: Path, fill: Callable[[Path], None], last: Sequence[str], superseded: Sequence[str] = ()
) -> None:
    """Fill a hidden folder beside `folder`, bring it to the disk, and rename it into place.

    Where `folder` is there already, its other files stay, and ours are replaced one by one: those named in `last` are
    removed first and come last, so that a folder cut short lacks them and no reader takes it for whole.

    Args:
        folder: the target.
        fill: writes the files into the folder that it is given.
        last: names of the files without which readers refuse the folder.
        superseded: names and patterns of files that would be read beside ours and are of what stood here before: those
            that `fill` does not write go.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk.
    """
    folder = folder.absolute()
    temporary = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:12]}.tmp"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        fill(temporary)
        names = sorted(path.name for path in temporary.iterdir())
        for name in names:
            sync(temporary / name)
        sync(temporary)
        if folder.exists():
            for name in last:
                (folder / name).unlink(missing_ok=True)
            for path in {path for pattern in superseded for path in folder.glob(pattern)}:
                if path.name not in names:
                    path.unlink()
            sync(folder)
            for name in sorted(names, key=lambda name: (name in last, name)):
                (temporary / name).replace(folder / name)
            sync(folder)
        else:
            temporary.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary)


def cannot_write(path: Path, error: OSError) -> CannotWriteError:
    """The error for an `OSError` that was met while writing `path`: which path, why, and how much room there is."""
    code = errno.errorcode.get(error.errno or 0, "unknown error")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    room = ""
    for folder in path.absolute().parents:
        with suppress(OSError):
            room = f"; {shutil.disk_usage(folder).free:,} bytes are free there"
            break
    way_out = _WAYS_OUT.get(error.errno or 0, "Mend that or choose another output")
    return CannotWriteError(
        f"{path} cannot be written: {reason} ({code}){room}. {way_out}, then run the same command again."
    )


_WAYS_OUT = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Make room or choose another output"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Grant the permission or choose another output"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.EISDIR), "Choose another output"),
}

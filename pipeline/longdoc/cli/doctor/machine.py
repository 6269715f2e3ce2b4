"""What surrounds a job: limits, memory, language settings, clock, disks."""

from __future__ import annotations

import fcntl
import locale
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from longdoc.cli.doctor.finding import Finding

__all__ = ["folder_takes_files", "language", "limits", "temporary_folder"]

_FEW_FILES = 256
_LITTLE_MEMORY = 2 << 30
_LITTLE_ROOM = 1 << 30
_LARGEST_SKEW = 60


def limits() -> Iterator[Finding]:
    """Open files, address space, size of files, memory that is free."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY and files < _FEW_FILES:
        yield Finding("open files", "warn", f"at most {files}", f"Run: ulimit -n {_FEW_FILES}")
    else:
        yield Finding("open files", "ok", _limit(files))
    for name, kind, flag in (("address space", resource.RLIMIT_AS, "v"), ("file size", resource.RLIMIT_FSIZE, "f")):
        bound = resource.getrlimit(kind)[0]
        if bound == resource.RLIM_INFINITY:
            yield Finding(name, "ok", "unlimited")
        else:
            yield Finding(name, "warn", f"at most {bound:,} bytes", f"Run: ulimit -{flag} unlimited")
    free = _free_memory()
    if free is not None and free < _LITTLE_MEMORY:
        way_out = "End other programs, or use fewer `workers`: each needs about 1 GB for a small model."
        yield Finding("memory", "warn", f"{free / 1e9:.1f} GB free", way_out)
    elif free is not None:
        yield Finding("memory", "ok", f"{free / 1e9:.1f} GB free")


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else f"at most {value:,}"


def _free_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def language() -> Iterator[Finding]:
    """UTF-8 for names and output, and a clock that can be right."""
    found = {"file names": sys.getfilesystemencoding(), "text": locale.getpreferredencoding(False)}
    wrong = [f"{what} in {name}" for what, name in found.items() if name.lower().replace("-", "") != "utf8"]
    if wrong:
        yield Finding("UTF-8", "warn", ", ".join(wrong), "Set LC_ALL=C.UTF-8 or PYTHONUTF8=1.")
    else:
        yield Finding("UTF-8", "ok", "for file names and text")
    year = time.gmtime().tm_year
    if year < 2025:
        yield Finding("clock", "warn", f"says {year}", "Set it: certificates and the age of files go by it.")
    else:
        yield Finding("clock", "ok", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))


def temporary_folder() -> Iterator[Finding]:
    """The folder for temporary files."""
    yield from folder_takes_files(Path(tempfile.gettempdir()), "temporary folder", "Set TMPDIR to another folder.")


def folder_takes_files(folder: Path, name: str, way_out: str) -> Iterator[Finding]:
    """Commit a file in `folder` as jobs do (write, fsync, rename, fsync of the folder), lock one, and remove both."""
    from longdoc.errors import CannotWriteError
    from longdoc.files import write_bytes

    if not folder.is_dir():
        yield Finding(name, "fail", f"{folder} is no folder", way_out)
        return
    skew = 0.0
    locks = True
    try:
        with tempfile.TemporaryDirectory(prefix=".longdoc-doctor-", dir=folder) as inside:
            path = Path(inside) / "file"
            for content in (b"one", b"two"):  # the second replaces the first
                write_bytes(path, content)
                if path.read_bytes() != content:
                    yield Finding(name, "fail", f"{folder} does not give back what was written", way_out)
                    return
            skew = abs(path.stat().st_mtime - time.time())
            with path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    locks = False
    except (OSError, CannotWriteError) as error:
        yield Finding(name, "fail", f"{folder} takes no files ({_cause(error)})", way_out)
        return
    if locks:
        yield Finding(name, "ok", f"{folder}: files are written, renamed and locked")
    else:
        yield Finding(name, "fail", f"{folder} has no file locks", "Mount it with locks (for NFS: `nolock` off).")
    if skew > _LARGEST_SKEW:
        said = f"the file server's clock is {skew:.0f} s away"
        yield Finding(f"{name}: clock", "warn", said, "Let both follow one time server.")
    free = shutil.disk_usage(folder).free
    if free < _LITTLE_ROOM:
        yield Finding(f"{name}: room", "warn", f"{free / 1e9:.1f} GB free", "Make room.")
    else:
        yield Finding(f"{name}: room", "ok", f"{free / 1e9:.1f} GB free")


def _cause(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error) if not isinstance(error, OSError) else type(error).__name__

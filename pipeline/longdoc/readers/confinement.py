"""What a process gives up before it touches a file of a stranger: memory, time, files, network, other programs.

Everything is taken on entry and cannot be had back. Linux has all of it. macOS knows no limit of the address space, so
that a document there can fill the memory until the wall clock ends it, and no filter of system calls. Other systems
have the wall clock of the parent and the refusals inside Python.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from longdoc.readers.syscalls import forbid_system_calls

__all__ = ["allow_cpu_seconds", "give_up", "peak_memory"]

_MOST_FILES = 64
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.")
_FORBIDDEN_FILES = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink")
_FORBIDDEN_REST = ("os.truncate", "os.kill", "os.putenv", "shutil.", "tempfile.", "ftplib.", "urllib.", "webbrowser.")


def give_up(memory_bytes: int) -> None:
    """Take from this process what a parser does not need; `memory_bytes` of address space are left."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        pass
    else:
        for name, most in (
            ("RLIMIT_CORE", 0),
            ("RLIMIT_FSIZE", 0),
            ("RLIMIT_NOFILE", _MOST_FILES),
            ("RLIMIT_AS", memory_bytes),
        ):
            try:
                kind = getattr(resource, name)
                hard = resource.getrlimit(kind)[1]
                least = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(kind, (least, least))
            except (AttributeError, ValueError, OSError):
                continue  # macOS refuses to limit the address space
    forbid_system_calls()
    sys.addaudithook(_refuse)


def allow_cpu_seconds(seconds: int) -> None:
    """From now on this process may compute for `seconds`; the system ends it then with the signal SIGXCPU."""
    try:
        import resource
    except ImportError:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard))


def peak_memory() -> int:
    """The most memory that this process has used so far, in bytes; 0 where the system does not tell."""
    # Linux counts in `ru_maxrss` what the process that started this one had, too.
    with contextlib.suppress(OSError, ValueError), Path("/proc/self/status").open("rb") as file:
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITING:
            raise PermissionError
    elif event.startswith((*_FORBIDDEN, *_FORBIDDEN_FILES, *_FORBIDDEN_REST)):
        raise PermissionError

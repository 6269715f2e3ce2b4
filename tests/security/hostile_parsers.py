"""A parser that does what the document says: what a hostile file might make a real one do."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.parsed import ParsedDocument


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    word, _, rest = data.decode("utf-8").partition(" ")
    return ParsedDocument(_ACTS.get(word, lambda given: given)(rest))


def forge(rest: str) -> str:
    """Answer past the pipe's other end with lengths that are lies."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, bytes.fromhex(rest))
        except OSError:
            continue
    time.sleep(60)
    return ""


def refuse(rest: str) -> str:
    raise DocumentError("encrypted", "It needs a password.")


def fail(rest: str) -> str:
    raise ValueError(rest)


def hang(rest: str) -> str:
    while True:
        time.sleep(1)


def spin(rest: str) -> str:
    while True:
        pass


def allocate(rest: str) -> str:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def crash(rest: str) -> str:
    os.kill(os.getpid(), signal.SIGSEGV) if rest == "kill" else ctypes.string_at(0)
    return ""


def native(rest: str) -> str:
    """The result of system calls made past Python: -1 for every refused one."""
    libc = ctypes.CDLL(None)
    made = [libc.socket(2, 1, 0), libc.fork(), libc.open(rest.encode(), os.O_WRONLY | os.O_CREAT, 0o600)]
    return repr([*made, libc.unlink(rest.encode()), libc.truncate(rest.encode(), 0)])


def refused(act: Callable[[str], object]) -> Callable[[str], str]:
    def attempt(rest: str) -> str:
        try:
            act(rest)
        except OSError as error:
            return type(error).__name__
        return "done"

    return attempt


_ACTS: dict[str, Callable[[str], str]] = {
    "refuse": refuse,
    "fail": fail,
    "hang": hang,
    "spin": spin,
    "allocate": allocate,
    "crash": crash,
    "exit": lambda rest: os._exit(int(rest)),  # type: ignore[func-returns-value]
    "forge": forge,
    "long": lambda rest: "x" * int(rest),
    "print": lambda rest: print(rest) or print(rest, file=sys.stderr) or "printed",  # type: ignore[func-returns-value]
    "pid": lambda rest: str(os.getpid()),
    "native": native,
    "variables": lambda rest: " ".join(sorted(os.environ)),
    "write": refused(lambda rest: Path(rest).write_text("owned")),
    "remove": refused(lambda rest: Path(rest).unlink()),
    "connect": refused(lambda rest: socket.create_connection(("127.0.0.1", int(rest)), 1)),
    "fork": refused(lambda rest: os.fork()),
}

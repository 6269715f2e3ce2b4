"""The calls by which a job makes files, of which the n-th fails: `open`, `write`, `fsync`, `rename`."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["calls_of", "failing"]

_SEAMS = ((os, "open"), (io, "open"), (os, "write"), (os, "fsync"), (os, "replace"))


def calls_of(output: Path, number: int, strike: Callable[[], None]) -> tuple[dict, list[str]]:
    """Replacements for the calls, by module and name, and the list in which each call is written down.

    The call with the number `number`, from 1, calls `strike` first, which may raise or never return; half of what a
    `write` was to write has been written then. Only files below `output` count.
    """
    calls: list[str] = []

    def concerns(name: str, subject: object) -> bool:
        if isinstance(subject, int):
            return name != "write" or stat.S_ISREG(os.fstat(subject).st_mode)
        return str(subject).startswith(str(output))

    def counting(call: Callable, name: str) -> Callable:
        def counted(subject, *more, **options):
            if concerns(name, subject):
                calls.append(name)
                if len(calls) == number:
                    if name == "write":
                        call(subject, bytes(more[0])[: len(more[0]) // 2])
                    strike()
            return call(subject, *more, **options)

        return counted

    return {(module, name): counting(getattr(module, name), name) for module, name in _SEAMS}, calls


@contextmanager
def failing(output: Path, number: int, code: int) -> Iterator[list[str]]:
    """Within the block the `number`-th call raises the errno `code`; yields the list of calls."""

    def strike() -> None:
        raise OSError(code, os.strerror(code))

    replacements, calls = calls_of(output, number, strike)
    originals = {seam: getattr(*seam) for seam in replacements}
    for (module, name), call in replacements.items():
        setattr(module, name, call)
    try:
        yield calls
    finally:
        for (module, name), call in originals.items():
            setattr(module, name, call)

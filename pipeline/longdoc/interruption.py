"""Stopping in good order: the first SIGINT or SIGTERM ends a job or a training after what is at work, the second at
once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["Interruption", "raising", "starting_up", "was_raised"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_EX_TEMPFAIL = 75

_Handler = Callable[[int, "FrameType | None"], None]

_lines: list[Callable[[], str]] = []
_raised = threading.Event()
"""A signal has raised KeyboardInterrupt since `raising` began."""


def was_raised() -> bool:
    """Whether a signal has raised KeyboardInterrupt in the command at work.

    Code that imports a library while the signal comes may turn it into another error, or leave a library half imported
    that breaks later: such an error is no fault.
    """
    return _raised.is_set()


@contextlib.contextmanager
def raising(line: Callable[[], str]) -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, since schedulers send it before they kill; `was_raised` knows of both.

    Args:
        line: what is said where a module is just being imported: libraries in C++ end the process (SIGABRT) when an
            exception passes through them, so it ends there and then, with status 75.
    """
    _raised.clear()
    _lines.append(line)
    try:
        with _handled_by(_raise):
            yield
    finally:
        _lines.pop()


@contextlib.contextmanager
def starting_up() -> Iterator[None]:
    """Until a command is at work either signal ends the process at once, with one line and status 75."""
    with _handled_by(_leave):
        yield


class _StopError(KeyboardInterrupt):
    """Where a library runs code from a string as it is imported and a plain KeyboardInterrupt passes through, Python
    ends the process by SIGINT at last, whatever status was asked for; a subclass has no such effect."""


def _raise(number: int, frame: FrameType | None) -> None:
    _raised.set()
    if _lines and _importing(frame):
        _end(_lines[-1]())
    raise _StopError


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _end(line: str) -> None:
    os.write(2, f"{line}\n".encode())
    os._exit(_EX_TEMPFAIL)


def _leave(number: int, frame: FrameType | None) -> None:
    # No exception: in the middle of an import nobody knows what becomes of one. Nothing is open yet.
    _end("longdoc: stopped. Run the same command again.")


@contextlib.contextmanager
def _handled_by(handler: _Handler) -> Iterator[None]:
    """In the main thread, since Python forbids it elsewhere; a signal that is ignored stays so (`nohup`)."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class Interruption:
    """Takes over the two signals while a job or a training runs; does nothing outside the main thread, where Python
    forbids it.

    Attributes:
        requested: whether it was asked to stop.
        patient: while False (nothing to lose yet) the first signal raises KeyboardInterrupt as the second always does.
    """

    def __init__(self) -> None:
        self.requested = False
        self.patient = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stopping(self) -> bool:
        """Whether to start nothing new."""
        return self.requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested or not self.patient:
            # Not one of our own errors: code that guards against any `Exception` of a document must not swallow it.
            _raise(number, frame)
        self.requested = True

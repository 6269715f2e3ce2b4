"""Stopping in good order: the first SIGINT or SIGTERM ends a job or a training after what is at work, the second at
once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

__all__ = ["Interruption"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
            raise KeyboardInterrupt
        self.requested = True

"""Nobody works any more: notice it and say so, rather than wait for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from longdoc.errors import InterruptedJobError

__all__ = ["Pulse", "StallWatch"]


class Pulse:
    """Signs of work of this process: documents answered, and seconds of the processor's time.

    A worker that waits for a lock for ever uses no time; one that reads a document for hours does.

    Attributes:
        documents, failed: how many are answered, and how many of them failed.
    """

    def __init__(self) -> None:
        self.documents, self.failed = 0, 0

    def document(self, failed: bool) -> None:
        """One more document is answered."""
        self.documents, self.failed = self.documents + 1, self.failed + failed

    def reading(self) -> str:
        """Differs from an earlier one when there was work in between."""
        return f"{self.documents}:{int(time.process_time())}"


class StallWatch:
    """Remembers when anybody last showed a sign of work.

    Args:
        minutes: without a sign after which the job is given up.
        clock: seconds, for tests.
    """

    def __init__(self, minutes: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._minutes, self._clock = minutes, clock
        self._since = clock()
        self._last: dict[Hashable, object] = {}

    def sign(self, worker: Hashable, reading: object) -> None:
        """What a worker shows; the same as before is no sign."""
        if self._last.get(worker) != reading:
            self._last[worker] = reading
            self._since = self._clock()

    def check(self, waiting_for: str) -> None:
        """Raises:
        InterruptedJobError: no sign for too long. The message says what was waited for.
        """
        if self._clock() - self._since > 60 * self._minutes:
            raise InterruptedJobError(
                f"no worker has shown a sign of work for {self._minutes:g} minutes while the job waited for "
                f"{waiting_for}, so it was stopped. Finished parts are kept, and the same command goes on from them. "
                "Look at the workers' machines; raise `job.stall_minutes` if they were only slow."
            )

"""How far a command is where nobody looks at a terminal: a plain line now and then, counts only."""

from __future__ import annotations

import time
from collections.abc import Callable

from longdoc.cli.training_display import EVERY_SECONDS, duration

__all__ = ["ProgressLines"]


class ProgressLines:
    """Call it with (done, total or None, failed); what takes less than half a minute says nothing.

    Args:
        what: the work, in a word.
        unit: what is counted, in the plural.
        say: what becomes of a line.
        clock: seconds, for tests.
    """

    def __init__(
        self, what: str, unit: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.what, self.unit, self.say, self.clock = what, unit, say, clock
        self.last = clock()
        self.first: tuple[float, int] | None = None
        self.done = 0

    def __call__(self, done: int, total: int | None, failed: int = 0) -> None:
        now = self.clock()
        if self.first is None or done < self.done:  # what an earlier run did took no time of this one; or another round
            self.first = (now, done)
        self.done = done
        if now - self.last < EVERY_SECONDS:
            return
        self.last = now
        said = [f"{self.what}: {done} {self.unit}" if total is None else f"{self.what}: {done} of {total} {self.unit}"]
        if failed:
            said.append(f"{failed} failed")
        began, before = self.first
        if total is not None and before < done < total:
            said.append(f"about {duration((now - began) / (done - before) * (total - done))} left")
        self.say(", ".join(said))

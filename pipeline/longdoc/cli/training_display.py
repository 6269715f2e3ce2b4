"""How a training run is shown while it goes on: a live picture on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from longdoc.training.progress import TrainingProgress

__all__ = ["LivePicture", "PlainLines", "show_training"]

EVERY_SECONDS = 30.0
"""Between two plain lines."""
_NAMES = {"rows": "encode", "train": "train", "validate": "validate"}
_BLOCKS = "▁▂▃▄▅▆▇█"
_REMEMBERED = 40


@contextlib.contextmanager
def show_training() -> Iterator[Callable[[TrainingProgress], None]]:
    """Call it with each state of a run. Nothing but numbers is ever shown; lines that stay come before the picture."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "") == "dumb":
        lines = PlainLines(lambda line: typer.echo(line, err=True))
        try:
            yield lines
        finally:
            lines.lasting.end()
        return
    from rich.console import Console

    with LivePicture(Console(stderr=True)) as picture:
        yield picture


class PlainLines:
    """Lines without any control character: where a run goes on, better epochs, and every half minute how it stands.

    Args:
        say: what becomes of a line.
        clock: seconds, for tests.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.say, self.clock = say, clock
        self.last, self.lasting = clock(), LastingLines(say, clock)
        self.left = TimeLeft(clock)

    def __call__(self, state: TrainingProgress) -> None:
        self.left.note(state)
        self.lasting.note(state)
        if state.phase == "resume" or self.clock() - self.last < EVERY_SECONDS:
            return
        self.last = self.clock()
        said = [f"{_NAMES[state.phase]}: {where(state)}, {state.done} of {state.total}", *numbers(state)]
        if (seconds := self.left.seconds) is not None:
            said.append(f"about {duration(seconds)} left")
        self.say(", ".join(said))


class LivePicture:
    """A bar over the whole run, the loss of late as a little curve, score, speed and time left. Gone when it ends.

    Args:
        console: of rich, to draw on.
        clock: seconds, for tests.
    """

    def __init__(self, console: Any, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.live import Live

        self.console, self.clock = console, clock
        self.losses: deque[float] = deque(maxlen=_REMEMBERED)
        self.loss = self.speed = self.score = self.best = None  # type: float | None
        self.best_epoch, self.score_name = 0, ""
        self.lasting = LastingLines(lambda line: console.print(line, markup=False, highlight=False), clock)
        self.left = TimeLeft(clock)
        self.live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> LivePicture:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.lasting.end()
        self.live.stop()

    def __call__(self, state: TrainingProgress) -> None:
        self.left.note(state)
        self.lasting.note(state)
        if state.phase == "resume":
            return
        if state.loss is not None and math.isfinite(state.loss):
            self.loss = state.loss
            self.losses.append(state.loss)
        self.speed = state.tokens_per_second or self.speed
        if state.metric is not None and not math.isnan(state.metric):
            self.score, self.score_name = state.metric, state.score
            if state.improved:
                self.best, self.best_epoch = state.metric, state.epoch
        self.live.update(self.drawn(state))

    def drawn(self, state: TrainingProgress) -> Any:
        """What is on the screen at this moment."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        whole = (state.step, state.steps) if state.phase == "train" and state.steps else (state.done, state.total)
        top = Table.grid(padding=(0, 1))
        seconds = self.left.seconds
        left = "" if seconds is None else f"about {duration(seconds)} left"
        top.add_row(
            Text(f"{_NAMES[state.phase]:<8}", style="bold"),
            ProgressBar(total=max(1, whole[1]), completed=whole[0], width=30),
            Text(f"{whole[0]} of {whole[1]}"),
            Text(where(state)),
            Text(left, style="dim"),
        )
        parts = []
        if self.loss is not None:
            curve = sparkline(self.losses) if _can_draw(self.console) else ""
            parts.append(f"loss {self.loss:.4f} {curve}".rstrip())
        if self.score is not None:
            name = self.score_name.replace("_", " ") or "validation"
            best = "" if self.best is None else f" (best {self.best:.4f}, epoch {self.best_epoch})"
            parts.append(f"{name} {self.score:.4f}{best}")
        if self.speed is not None:
            parts.append(f"{self.speed:,.0f} tokens/s")
        return Group(top, Text("   ".join(parts), overflow="ellipsis", no_wrap=True))


class LastingLines:
    """Lines that stay: every better epoch, but not more than one in two seconds, and always the last one of a run.

    Args:
        say: what becomes of a line.
        clock: seconds, for tests.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self.say, self.clock = say, clock
        self.told = -math.inf
        self.waiting: str | None = None

    def note(self, state: TrainingProgress) -> None:
        if state.phase == "resume":
            self.say(lasting_line(state) or "")
            return
        self.waiting = lasting_line(state) or self.waiting
        if self.clock() - self.told >= 2:
            self.end()

    def end(self) -> None:
        """Say what waits."""
        if self.waiting is not None:
            self.told = self.clock()
            self.say(self.waiting)
            self.waiting = None


class TimeLeft:
    """How long a run will take yet, from how long its steps have taken, validation included.

    While a frozen encoder reads: how long the reading will take yet, which is most of such a run.

    Attributes:
        seconds: None as long as nobody can say.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.phase = ""
        self.first: tuple[float, int] | None = None
        self.seconds: float | None = None

    def note(self, state: TrainingProgress) -> None:
        reading = state.phase == "rows"
        if not reading and (state.phase != "train" or not state.steps):
            return
        now = self.clock()
        done, total = (state.done, state.total) if reading else (state.step, state.steps)
        if state.phase != self.phase:
            self.phase, self.first, self.seconds = state.phase, None, None
        if self.first is None:  # what was done before a stop took no time of this process
            self.first = (now, done)
            return
        began, before = self.first
        if done > before:
            self.seconds = (now - began) / (done - before) * (total - done)


def lasting_line(state: TrainingProgress) -> str | None:
    """What is worth a line that stays: that a run goes on, or that an epoch beats those before it."""
    if state.phase == "resume":
        return f"the run goes on after step {state.done} of {state.total}"
    if not state.improved or state.metric is None:
        return None
    found = "undefined" if math.isnan(state.metric) else f"{state.metric:.4f}, the best so far"
    return f"{where(state)}: {state.score or 'validation'} {found}"


def where(state: TrainingProgress) -> str:
    """Which part of the run."""
    return f"epoch {state.epoch} of {state.epochs}" if state.epoch else "the frozen encoder's rows, once"


def numbers(state: TrainingProgress) -> list[str]:
    """The numbers that a state has, in words."""
    said = [] if state.loss is None else [f"loss {state.loss:.4f}"]
    if state.metric is not None:
        said.append(f"{state.score.replace('_', ' ') or 'validation'} {state.metric:.4f}")
    return said + ([] if state.tokens_per_second is None else [f"{state.tokens_per_second:,.0f} tokens/s"])


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def sparkline(values: deque[float]) -> str:
    """A curve of one line."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int((value - low) / span * len(_BLOCKS)))] for value in values)


def _can_draw(console: Any) -> bool:
    return "utf" in str(console.encoding).lower()

"""When a run is saved, and how it goes on from what was saved."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from longdoc.errors import UsageError
from longdoc.training.checkpointing import (
    Checkpoint,
    clear_checkpoints,
    keep_last,
    remove_checkpoint,
    remove_leftovers,
    write_checkpoint,
)
from longdoc.training.metrics_file import MetricsFile
from longdoc.training.resume import Identity, find_unfinished
from longdoc.training.run_layout import CHECKPOINTS, checkpoints_in
from longdoc.training.run_state import RunState
from longdoc.training.settings import TrainingConfig

__all__ = ["Saver", "Unfinished"]

_log = logging.getLogger(__name__)

Unfinished = Literal["continue", "require", "discard"]
"""What becomes of an unfinished run that is found: it is gone on with where there is one, must be there, or goes."""


@dataclass
class Saver:
    """Keeps the checkpoints of a run.

    Attributes:
        output: the run's folder.
        settings: which say how often.
        identity: of the run.
        state: what is saved.
        is_main: whether this process writes.
        wait: for all processes.
        active: False where nothing is kept.
        newest: the folder of the last checkpoint of this run.
        seconds: that the run had taken before it was stopped.
    """

    output: Path
    settings: TrainingConfig
    identity: Identity
    state: RunState
    is_main: bool
    wait: Callable[[], None]
    active: bool
    newest: Path | None = None
    seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)
    _salt: str = ""
    _saved: float = field(default_factory=time.monotonic)
    _known: Checkpoint | None = None

    def find(self, unfinished: Unfinished) -> Checkpoint | None:
        """The checkpoint to go on from, nothing changed yet; None = from the start.

        Raises:
            UsageError, CheckpointError: as `find_unfinished`; or one is required and there is none.
        """
        found = None if unfinished == "discard" else find_unfinished(self.output, self.identity)
        if found is None:
            if unfinished == "require":
                raise UsageError(
                    f"`--resume` (in Python `resume=True`) needs an unfinished run, but {self.output} holds none. "
                    "Leave it out to start one."
                )
            if unfinished == "continue" and self.is_main and (self.output / "metrics.jsonl").is_file():
                _log.warning(
                    "the run that was begun in %s ended before its first checkpoint: it starts over", self.output
                )
            return None
        self.newest, checkpoint = found
        self._salt, self.seconds = checkpoint.numbers["salt"], checkpoint.numbers["seconds"]
        return checkpoint

    def clear(self) -> None:
        """Remove what is of no use: leftovers, damaged checkpoints, and where nothing is gone on with, all of them."""
        if not self.is_main:
            return
        remove_leftovers(self.output)
        if self.newest is None:
            clear_checkpoints(self.output)
            return
        for folder in checkpoints_in(self.output):
            if folder == self.newest:
                break
            remove_checkpoint(folder)  # newer and passed over

    def wishes_to_save(self) -> bool:
        """Whether it is time by the clock; one process speaks for all."""
        minutes = self.settings.save_minutes
        return self.active and self.is_main and minutes is not None and time.monotonic() >= self._saved + 60 * minutes

    def is_due(self) -> bool:
        """Whether it is time by the number of steps."""
        every = self.settings.save_steps
        return self.active and every is not None and self.state.report.steps % every == 0

    def save(self, metrics: MetricsFile) -> None:
        """Write a checkpoint, then remove the oldest ones. Called on all processes at once.

        Where the last one is of this very step, it says the same.
        """
        if self.newest is not None and self.newest.name == f"step-{self.state.report.steps:06d}":
            return
        checkpoint = self.state.take(metrics.settle(), self.elapsed)
        if self.is_main:
            if self._known is None:
                self._known = Checkpoint()
                self.identity.store(self._known, self._salt or secrets.token_hex(16))
            checkpoint.numbers |= self._known.numbers
            checkpoint.tensors |= self._known.tensors
            self.newest = write_checkpoint(self.output, self.state.report.steps, checkpoint)
            keep_last(self.output, self.settings.save_total_limit)
        else:
            self.newest = self.output / CHECKPOINTS / f"step-{self.state.report.steps:06d}"
        self.wait()
        self._saved = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken, those before a stop among them."""
        return self.seconds + time.monotonic() - self.started

    def kept(self) -> str:
        """What is kept, as a sentence."""
        if self.newest is None:
            return "There is no checkpoint yet."
        return f"The last good checkpoint is {self.newest}."

"""Counting documents for people while parts come home."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from longdoc.jobs.parts import PartOutcome

__all__ = ["DocumentCounter", "Progress"]


class Progress(Protocol):
    """Called with counts only: documents done so far, documents in all, and how many of the done ones failed."""

    def __call__(self, done: int, total: int, failed: int, /) -> None: ...


class DocumentCounter:
    """Counts documents as they are answered and corrects itself as parts are committed.

    While parts are in work a document may be counted twice (its part was tried again); when the last part is committed
    the numbers are those of the files.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done, self._failed, self._total = 0, 0, 0
        self._in_work, self._failed_in_work = 0, 0

    def start(self, total: int, kept: Iterable[PartOutcome]) -> None:
        """Begin with the parts of earlier runs."""
        self._total = total
        for outcome in kept:
            self._done, self._failed = self._done + outcome.documents, self._failed + outcome.failed
        self._tell()

    def document(self, failed: bool) -> None:
        """One more document is answered; its part is not committed yet."""
        self._in_work, self._failed_in_work = self._in_work + 1, self._failed_in_work + failed
        self._tell()

    def part(self, outcome: PartOutcome) -> None:
        """A part is committed: its documents count for good."""
        self._done, self._failed = self._done + outcome.documents, self._failed + outcome.failed
        self._in_work = max(0, self._in_work - outcome.documents)
        self._failed_in_work = max(0, self._failed_in_work - outcome.failed)
        if self._done >= self._total:
            self._in_work = self._failed_in_work = 0
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            done = min(self._done + self._in_work, self._total)
            self._progress(done, self._total, min(self._failed + self._failed_in_work, done))

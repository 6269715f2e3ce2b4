"""Who was at work when a process died: counts that are written before the work starts.

A killed process cannot say what it was doing, so every attempt is announced on disk first and struck out when it
ends. The file holds numbers of parts and of documents in them, never an id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longdoc.errors import CannotWriteError
from longdoc.files import write_bytes

__all__ = ["DEATHS_TO_SUSPECT", "JOB_DEATHS_TO_GIVE_UP", "Attempts", "DocumentAttempts"]

DEATHS_TO_SUSPECT = 2
"""A part that was at work in so many deaths is run document by document."""

JOB_DEATHS_TO_GIVE_UP = 10
"""When the whole job dies, a document may be the cause or merely a witness: somebody may have killed the job. Only a
document that was alone at work in this many deaths, and never once survived, is given up for it. A death that the
parent process survives is the worker's own, and `JobConfig.max_attempts` of those are enough."""


@dataclass
class DocumentAttempts:
    """One document, run alone: how often it started, how often its worker died of it, and the last cause."""

    started: int = 0
    died: int = 0
    cause: str = ""


class Attempts:
    """The counts of `.work/attempts.json`."""

    def __init__(self, work: Path, parts: dict[int, int], documents: dict[int, dict[int, DocumentAttempts]]) -> None:
        self._work = work
        self._parts = parts
        self._documents = documents

    @classmethod
    def load(cls, work: Path, unfinished: Iterable[int]) -> Attempts:
        """The counts of earlier runs for parts that are not finished. A file that cannot be read counts as none."""
        open_parts = set(unfinished)
        try:
            tree = json.loads((work / "attempts.json").read_bytes())
            parts = {int(part): int(count) for part, count in tree["parts"].items() if int(part) in open_parts}
            documents = {
                int(part): {int(ordinal): DocumentAttempts(**counts) for ordinal, counts in ordinals.items()}
                for part, ordinals in tree["documents"].items()
                if int(part) in open_parts
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            parts, documents = {}, {}
        return cls(work, parts, documents)

    def suspect(self, part: int) -> bool:
        """Whether the part must be run document by document."""
        return self._parts.get(part, 0) >= DEATHS_TO_SUSPECT

    def start(self, part: int) -> None:
        """Announce that a part is about to be run."""
        self._parts[part] = self._parts.get(part, 0) + 1
        self._save()

    def finish(self, part: int) -> None:
        """Strike a part out. On disk with the next announcement: a finished part is never run again anyway."""
        self._parts.pop(part, None)
        self._documents.pop(part, None)

    def cancel(self, part: int) -> None:
        """Take an announcement back: the attempt ended in an error that is no death, such as a full disk."""
        self._parts[part] = self._parts.get(part, 1) - 1
        self.settle()

    def settle(self) -> None:
        """Bring the file up to date when a run ends in good order. Not worth an error: a count too many is harmless."""
        with suppress(CannotWriteError):
            self._save()

    def start_document(self, part: int, ordinal: int) -> None:
        """Announce that document `ordinal` of a part is about to be run alone."""
        self._of(part, ordinal).started += 1
        self._save()

    def survived(self, part: int, ordinal: int) -> None:
        """Strike a document out: it did not kill anybody."""
        self._documents[part].pop(ordinal, None)

    def died(self, part: int, ordinal: int, cause: str) -> None:
        """The worker of a document that was run alone died, and its parent saw it."""
        counts = self._of(part, ordinal)
        counts.died, counts.cause = counts.died + 1, cause
        self._save()

    def given_up(self, part: int, ordinal: int, max_attempts: int) -> DocumentAttempts | None:
        """The counts of a document that is not tried any more, else None."""
        counts = self._documents.get(part, {}).get(ordinal)
        if counts is None:
            return None
        hopeless = counts.died >= max_attempts or counts.started - counts.died >= JOB_DEATHS_TO_GIVE_UP
        return counts if hopeless else None

    def _of(self, part: int, ordinal: int) -> DocumentAttempts:
        return self._documents.setdefault(part, {}).setdefault(ordinal, DocumentAttempts())

    def _save(self) -> None:
        tree = {
            "parts": self._parts,
            "documents": {
                part: {o: vars(c) for o, c in ordinals.items()} for part, ordinals in self._documents.items()
            },
        }
        write_bytes(self._work / "attempts.json", json.dumps(tree).encode("ascii"), self._work)

"""Every error that a user can meet, each with the situation it stands for and the way out.

No message holds text of a user's document: messages are built from names, numbers, bounds and places.
"""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

__all__ = [
    "FAILURE_REASONS",
    "CannotWriteError",
    "CheckpointError",
    "ConfigurationError",
    "DataError",
    "DocumentError",
    "DuplicateIdError",
    "FailureReason",
    "InterruptedJobError",
    "InterruptedTrainingError",
    "JobError",
    "LongDocError",
    "PlanMismatchError",
    "UsageError",
    "counted",
    "no_document",
    "on_one_line",
]

FailureReason = Literal[
    "empty",
    "too_large",
    "unreadable",
    "encrypted",
    "unsupported_type",
    "decode_error",
    "timeout",
    "memory_limit",
    "worker_died",
    "non_finite_output",
    "zip_bomb",
    "xml_forbidden",
    "path_escape",
]
"""Why one document has no answer: the closed list that stands in the `reason` column of a result."""

FAILURE_REASONS: tuple[FailureReason, ...] = get_args(FailureReason)


def counted(number: int, noun: str) -> str:
    """`1 document`, `2 documents`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def on_one_line(name: str) -> str:
    """A name from outside (of a file, a document, a label) as a message or terminal can show it.

    What would break, turn or move a line, or is no character, stands there by its number, such as `\\n` and `\\x1b`.
    """
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else c.encode("unicode_escape").decode() for c in name
    )


class LongDocError(Exception):
    """The root of all errors of this package. `exit_status` is what the command line ends with."""

    exit_status = 2


class UsageError(LongDocError, ValueError):
    """A command or function was called in a way that cannot work. The message names the argument and its bound."""


class ConfigurationError(UsageError):
    """A configuration is wrong; nothing was started. The message names the key and what would be right."""


class DataError(LongDocError):
    """An input as a whole cannot be used: no such path, no text column, an unknown file type.

    A single bad document never raises this; it becomes a `DocumentFailure` in its place.
    """


def no_document(named: str) -> DataError:
    """What is said of inputs without a single document: `named` is the option or key that named them."""
    return DataError(
        f"`{named}` must hold at least 1 document, but holds none. Name other files, or look whether these are "
        "empty: a table needs a row below its header."
    )


class DuplicateIdError(DataError):
    """Two documents of one job have the same id. The message names both places, never the documents."""


class DocumentError(LongDocError):
    """One document cannot be answered. Raised inside the rooms, turned into a `DocumentFailure` by the pipeline.

    Args:
        reason: one word of `FAILURE_REASONS`.
        message: built from numbers and names only.
        stage: the room in which it happened: `read`, `tokenize`, `encode` or `merge`.
    """

    def __init__(self, reason: FailureReason, message: str, stage: str = "read") -> None:
        super().__init__(message)
        self.reason: FailureReason = reason
        self.stage = stage


class CheckpointError(LongDocError):
    """A checkpoint or model folder cannot be loaded as asked. All faults are collected into one message."""


class JobError(LongDocError):
    """A job folder cannot be used: it is locked by a live run, damaged, or not a job folder."""


class PlanMismatchError(JobError):
    """The output folder belongs to another job: inputs, model or configuration have changed since it was planned."""


class CannotWriteError(JobError):
    """The output cannot be written: disk full, read-only, no permission. Free space and run the same command again."""

    exit_status = 74


class InterruptedJobError(JobError):
    """The job was asked to stop, or nobody can work on it now. Finished parts are kept; the same command continues."""

    exit_status = 75


class InterruptedTrainingError(LongDocError):
    """The training was asked to stop. What it had learned is kept in a checkpoint; the same command goes on."""

    exit_status = 75

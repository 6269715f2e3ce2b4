"""What an examination says: one line about one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Examination", "Finding", "State", "examine"]

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: of the thing.
        state: `ok`; `warn` = jobs run, but perhaps not as they could; `fail` = they do not.
        said: what was found; never a user's text.
        way_out: what to do about it; empty where nothing is to be done.
    """

    name: str
    state: State
    said: str
    way_out: str = ""


Examination = Callable[[], Iterable[Finding]]
"""Looks at one side of the machine."""


def examine(name: str, look: Examination) -> Iterator[Finding]:
    """The findings of an examination; one that breaks off is a finding too."""
    try:
        yield from look()
    except Exception as error:  # whatever is wrong with the machine, the others are still examined
        yield Finding(name, "fail", f"the examination broke off with {type(error).__name__}", "Reinstall longdoc.")

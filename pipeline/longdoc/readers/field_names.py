"""Names of columns and fields in messages: where a table has no header they are its first row, somebody's text."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["is_plain_name", "listed"]

_PLAIN = re.compile(r"[\w.-]{1,30}")


def is_plain_name(name: str) -> bool:
    """Whether a message may show it: one word of at most 30 letters, digits, `_`, `-` and `.`."""
    return _PLAIN.fullmatch(name) is not None


def listed(names: Sequence[str], most: int, noun: str = "column", why: str = "") -> str:
    """The first `most` of those that are words, and how many others there are: `a`, `b` and 2 more columns, ...

    Args:
        noun: what bears the names.
        why: a further reason why a name may be text.
    """
    plain = [f"`{name}`" for name in names if is_plain_name(name)]
    hidden = sum(1 for name in names if name) - len(plain)
    said = ", ".join(plain[:most]) + (f" and {len(plain) - most} more" if len(plain) > most else "")
    if hidden:
        count = f"{hidden} {'more ' if plain else ''}{noun}{'' if hidden == 1 else 's'}"
        whose = "whose name is not shown, since it" if hidden == 1 else "whose names are not shown, since they"
        said += f"{' and ' if plain else ''}{count} {whose} may be text{f' ({why})' if why else ''}"
    return said

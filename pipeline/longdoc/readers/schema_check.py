"""Whether the columns of a table are those that the configuration speaks of. Shared by all formats with a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longdoc.errors import DataError
from longdoc.readers.base import ReadConfig, Source

__all__ = ["check_columns"]

_NAME = re.compile(r"[^\W\d][\w.-]*( [\w.-]+){0,2}")
_LONGEST_NAME = 40
_MOST_NAMES = 30


def check_columns(names: Sequence[str], source: Source, settings: ReadConfig) -> None:
    """Raise `DataError` if a column occurs twice or the text column is missing."""
    for number, name in enumerate(names):
        if name and name in names[:number]:
            shown = f"`{name}`" if _looks_like_a_name(name) else f"number {number + 1}"
            raise DataError(
                f"The column {shown} occurs twice in {source.name}. Rename one of the two, so that it is clear which "
                f"one is meant."
            )
    text = settings.fields.text
    if text not in names:
        raise DataError(
            f"{source.name} has no column `{text}`. {_found(names)} Name the column that holds the documents in "
            f"`fields.text`."
        )


def _found(names: Sequence[str]) -> str:
    """The names, unless they may be content: a file without a header line begins with somebody's text."""
    if not all(_looks_like_a_name(name) for name in names if name):
        return f"Its first line has {len(names)} cells that do not look like column names: is there a header line?"
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"Columns found: {shown}{more}."


def _looks_like_a_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None

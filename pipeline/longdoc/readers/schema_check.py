"""Whether the columns of a table are those that the configuration speaks of. Shared by all formats with a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longdoc.errors import DataError, on_one_line
from longdoc.readers.base import ReadConfig, Source
from longdoc.readers.field_names import is_plain_name, listed

__all__ = ["MissingColumnError", "check_columns"]

_NAME = re.compile(r"[^\W\d][\w.-]*( [\w.-]+){0,2}")
_LONGEST_NAME = 40
_MOST_NAMES = 30


class MissingColumnError(DataError):
    """A table has no text column."""


def check_columns(names: Sequence[str], source: Source, settings: ReadConfig, from_text: bool = False) -> None:
    """Raise `DataError` if a column occurs twice or the text column is missing.

    `from_text`: the names are the first line of a text file. None is shown unless they all look like names, since a
    file without a header line begins with somebody's text.
    """
    foreign = from_text and not all(_looks_like_a_name(name) for name in names if name)
    for index, name in enumerate(names):
        if name and name in names[:index]:
            shown = f"`{name}`" if is_plain_name(name) and not foreign else f"number {index + 1}"
            raise DataError(
                f"The column {shown} occurs twice in {on_one_line(source.name)}. Rename one of the two, so "
                f"that it is clear which one is meant."
            )
    text = settings.fields.text
    if text in names:
        return
    if foreign:
        found = (
            f"Its first line has {len(names)} cells that do not look like names of columns: is there a header line, "
            f"and is `read.delimiter` right?"
        )
    else:
        why = "the first row may be no header" if from_text else ""
        found = f"Columns found: {listed(names, _MOST_NAMES, why=why) or 'none'}."
    raise MissingColumnError(f"{on_one_line(source.name)} has no column `{text}`. {found} {settings.fields.advice}")


def _looks_like_a_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None

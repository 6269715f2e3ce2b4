"""What is said where not one document has a label: as a rule the column is called otherwise, not every row is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from longdoc.errors import DataError, on_one_line
from longdoc.readers.field_names import is_plain_name, listed
from longdoc.types import Document, Record

__all__ = ["no_label_at_all"]

_FACTS = frozenset({"encoding", "encoding_source"})
_SHOWN = 20


def no_label_at_all(records: Sequence[Record]) -> DataError:
    """The error for documents none of which has a right answer beside its text.

    Args:
        records: all of them; what else the first one has is named, never what stands there.
    """
    first = records[0].document
    others = [name for name in (first.meta if isinstance(first, Document) else ()) if name not in _FACTS]
    if others:
        found = f"Beside its text the first has {listed(others, _SHOWN, 'field')}. Name the one that holds the label: "
        found += f"--set read.fields.label={others[0] if len(others) == 1 and is_plain_name(others[0]) else 'COLUMN'}"
        found += " (`labels`, `target`, `spans`, or `question` and `answers` for other tasks)."
    else:
        found = "Give each a `label` (`labels`, `target`, `spans`, or `question` and `answers` for other tasks)."
    count = "the one document has no label" if len(records) == 1 else f"not one of {len(records)} documents has a label"
    return DataError(f"{count}, from {on_one_line(str(records[0].place))} on. {found}")

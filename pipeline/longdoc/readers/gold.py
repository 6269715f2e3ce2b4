"""Reading one field of a record as an id, labels, a number, spans or answers, or saying what is wrong with it.

Each function takes a value and the name that the field has in messages; None stands for a field that is not there.
Messages hold names, bounds and numbers, never a value that is a string.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.encoding import repair_surrogates
from longdoc.types import LabelledSpan, Span

__all__ = ["answers", "identifier", "kind_of", "number", "spans", "string", "strings"]

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    bytes: "bytes",
}


def kind_of(value: Any) -> str:
    """What kind of value this is, in words."""
    return _KINDS.get(type(value), "of another type")


def string(value: Any, name: str) -> str | None:
    """A string, or an integer or boolean as JSON writes it. An empty string counts as none."""
    if value is None:
        return None
    if isinstance(value, str):
        return repair_surrogates(value)[0] or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:
            too_long = DocumentError("unreadable", f"`{name}` is an integer of too many digits.")
        raise too_long
    raise DocumentError("unreadable", f"`{name}` must be a string or an integer, but is {kind_of(value)} instead.")


def identifier(value: Any, name: str) -> str | None:
    """As `string`; other numbers are taken as they are written, since tables with gaps turn integers into them."""
    if isinstance(value, float):
        return None if math.isnan(value) else repr(value)
    return string(value, name)


def strings(value: Any, name: str) -> tuple[str, ...] | None:
    """A list of strings, each once."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise DocumentError("unreadable", f"`{name}` must be a list of strings, but is {kind_of(value)} instead.")
    found: dict[str, None] = {}
    for index, item in enumerate(value):
        found[_required_string(item, f"{name}[{index}]")] = None
    return tuple(found)


def number(value: Any, name: str) -> float | None:
    """A finite number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DocumentError("unreadable", f"`{name}` must be a number, but is {kind_of(value)} instead.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise DocumentError("unreadable", f"`{name}` must be a finite number, but is not.")
    return found


def spans(value: Any, name: str, length: int) -> tuple[LabelledSpan, ...] | None:
    """A list of `{"start", "end", "label"}` in a text of `length` characters."""
    if value is None:
        return None
    if isinstance(value, dict):  # `datasets` writes a sequence of objects as an object of sequences
        value = _rows_of_columns(value, name)
    if not isinstance(value, list):
        raise DocumentError("unreadable", f"`{name}` must be a list of spans, but is {kind_of(value)} instead.")
    return tuple(_span(item, f"{name}[{index}]", length) for index, item in enumerate(value))


def answers(value: Any, name: str, text: str) -> tuple[Span, ...] | None:
    """Places in `text`, each once: a list of `{"start", "end"}`, or of `{"text", "answer_start"}` as in SQuAD, also as
    one object of lists. Where a text is given, it must be what stands there."""
    if value is None:
        return None
    if isinstance(value, dict):
        value = _rows_of_columns(value, name, "answers")
    if not isinstance(value, list):
        raise DocumentError("unreadable", f"`{name}` must be a list of answers, but is {kind_of(value)} instead.")
    return tuple(dict.fromkeys(_answer(item, f"{name}[{index}]", text) for index, item in enumerate(value)))


def _answer(item: Any, name: str, text: str) -> Span:
    if not isinstance(item, dict):
        raise DocumentError("unreadable", f"`{name}` must be an object, but is {kind_of(item)} instead.")
    said = item.get("text")
    if said is not None and not isinstance(said, str):
        raise DocumentError("unreadable", f"`{name}.text` must be a string, but is {kind_of(said)} instead.")
    said = None if said is None else repair_surrogates(said)[0]
    if "start" not in item and said is not None:
        start = _position(item, name, "answer_start")
        end = start + len(said)
    else:
        start, end = _position(item, name, "start"), _position(item, name, "end")
    if not 0 <= start < end <= len(text):
        raise DocumentError(
            "unreadable",
            f"`{name}` must satisfy 0 <= start < end <= {len(text)}, but is ({_shown(start)}, {_shown(end)}) instead. "
            "A question without an answer has an empty list.",
        )
    if said is not None and text[start:end] != said:
        raise DocumentError(
            "unreadable",
            f"`{name}.text` must be what stands in the document from character {start} to {end}, but is not. Count in "
            "characters (code points), not in bytes, and in the text as it is here.",
        )
    return Span(start, end)


def _span(item: Any, name: str, length: int) -> LabelledSpan:
    if not isinstance(item, dict):
        raise DocumentError("unreadable", f"`{name}` must be an object, but is {kind_of(item)} instead.")
    start, end = _position(item, name, "start"), _position(item, name, "end")
    if not 0 <= start < end <= length:
        raise DocumentError(
            "unreadable",
            f"`{name}` must satisfy 0 <= start < end <= {length}, but is ({_shown(start)}, {_shown(end)}) instead.",
        )
    return LabelledSpan(start, end, _required_string(item.get("label"), f"{name}.label"))


def _required_string(value: Any, name: str) -> str:
    found = string(value, name)
    if found is None:
        raise DocumentError("unreadable", f"`{name}` must be a string that is not empty, but is not.")
    return found


def _position(item: Mapping[str, Any], name: str, edge: str) -> int:
    position = item.get(edge)
    if isinstance(position, bool) or not isinstance(position, int):
        raise DocumentError("unreadable", f"`{name}.{edge}` must be an integer, but is {kind_of(position)} instead.")
    return position


def _rows_of_columns(columns: Mapping[str, Any], name: str, what: str = "spans") -> list[dict[str, Any]]:
    lists = {key: column for key, column in columns.items() if isinstance(column, list)}
    lengths = {len(column) for column in lists.values()}
    if len(lists) != len(columns) or len(lengths) > 1:
        raise DocumentError("unreadable", f"`{name}` must be a list of {what} or equally long lists, but is not.")
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _shown(position: int) -> str:
    return str(position) if abs(position) < 1 << 63 else "more than 64 bits"

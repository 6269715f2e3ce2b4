"""Fields that nothing is mapped to are carried along, as long as they are small."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from longdoc.readers.encoding import repair_surrogates

__all__ = ["carry"]

_ROOM = 4096
"""About how many characters one record's other fields may take."""
_DEEPEST = 8


class _TooMuchError(Exception):
    pass


def carry(values: Mapping[str, Any], mapped: Collection[str]) -> dict[str, Any]:
    """Copies of the values whose names are not in `mapped`, such that any JSON writer takes them.

    Numbers that are not finite become None. Values that are too large, too deep or of other types are left out;
    `left_out` says how many.
    """
    meta: dict[str, Any] = {}
    left_out = 0
    room = _ROOM
    for name, value in values.items():
        if name in mapped:
            continue
        try:
            copy, rest = _copy(value, room - len(name), _DEEPEST)
        except _TooMuchError:
            left_out += 1
        else:
            meta[repair_surrogates(name)[0]] = copy
            room = rest
    if left_out:
        meta["left_out"] = left_out
    return meta


def _copy(value: Any, room: int, depth: int) -> tuple[Any, int]:
    """The copy, and what it leaves of `room`."""
    copy = value
    if isinstance(value, str):
        room -= len(value)
        copy = repair_surrogates(value)[0] if room >= 0 else ""
    elif isinstance(value, float):
        room -= 8
        copy = value if math.isfinite(value) else None
    elif value is None or isinstance(value, bool):
        room -= 8
    elif isinstance(value, int):
        room -= 8 + value.bit_length() // 3
    elif isinstance(value, (list, dict)) and depth and len(value) <= room:
        room -= 8
        copy, room = _copy_items(value, room, depth)
    else:
        raise _TooMuchError
    if room < 0:
        raise _TooMuchError
    return copy, room


def _copy_items(value: list[Any] | dict[str, Any], room: int, depth: int) -> tuple[Any, int]:
    if isinstance(value, list):
        copies = []
        for item in value:
            copy, room = _copy(item, room, depth - 1)
            copies.append(copy)
        return copies, room
    named = {}
    for name, item in value.items():
        copy, room = _copy(item, room - len(name), depth - 1)
        named[repair_surrogates(name)[0]] = copy
    return named, room

"""JSON as the standard has it: no key twice, and every fault a `DocumentError` without a word of the text."""

from __future__ import annotations

import json
from typing import Any

from longdoc.errors import DocumentError

__all__ = ["parse_json"]


class _RepeatedKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _RepeatedKeyError
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def parse_json(text: str, what: str = "The record") -> Any:
    """The value that `text` holds; messages call it `what`.

    NaN and Infinity, which Python's writer emits, are let through as floats.

    Raises `DocumentError("unreadable")` for broken JSON, a repeated key (which of the two counts would be a guess),
    numbers of thousands of digits and nesting deeper than the interpreter can follow.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fault = f"is not valid JSON at character {error.pos}"
    except _RepeatedKeyError:
        fault = "has a key twice in one object"
    except RecursionError:
        fault = "is nested too deeply"
    except ValueError:
        fault = "holds an integer with too many digits"
    raise DocumentError("unreadable", f"{what} {fault}.")

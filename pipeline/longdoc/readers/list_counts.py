"""The number of a list item as pages show it: 4, 04, d, IV. The ways are named as in ECMA-376 part 1, 17.18.59."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["COUNTS"]

_MOST_LETTERS = 30
_ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    )
)


def _letters(value: int) -> str:
    """1 -> a, 26 -> z, 27 -> aa, 28 -> bb."""
    times, place = divmod(value - 1, 26)
    return chr(ord("a") + place) * (times + 1) if 0 <= times < _MOST_LETTERS else str(value)


def _roman(value: int) -> str:
    if not 0 < value < 4000:
        return str(value)
    out = ""
    for number, sign in _ROMAN:
        times, value = divmod(value, number)
        out += sign * times
    return out


COUNTS: dict[str, Callable[[int], str]] = {
    "decimal": str,
    "decimalZero": lambda value: f"{value:02}",
    "lowerLetter": _letters,
    "upperLetter": lambda value: _letters(value).upper(),
    "lowerRoman": lambda value: _roman(value).lower(),
    "upperRoman": _roman,
    "none": lambda value: "",
}
"""Name of a way to count -> what it shows for a number."""

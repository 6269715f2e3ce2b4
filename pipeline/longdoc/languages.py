"""Codes of languages, and their numbers where a language is an axis of positions."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["COMMON_LANGUAGES", "language_number"]

COMMON_LANGUAGES: tuple[str, ...] = ("ar", "de", "en", "es", "fa", "fr", "he", "it", "pt", "ru", "tr", "zh")


def language_number(languages: Sequence[str], code: str | None) -> int:
    """The number of a language on its axis: 1 for the first of `languages`, 0 for None and for one that is not there.

    `en-GB` and `en_GB` are found as `en` where only that is in the list.
    """
    wanted = (code or "").replace("_", "-").lower()
    known = {each.replace("_", "-").lower(): number for number, each in enumerate(languages, start=1)}
    return known.get(wanted) or known.get(wanted.split("-")[0], 0)

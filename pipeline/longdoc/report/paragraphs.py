"""Where a text may be cut into blocks that are laid out by themselves, each in its own direction."""

from __future__ import annotations

import re

__all__ = ["paragraph_starts"]

_BREAK = re.compile(r"\n(?:[^\S\n]*\n)+|\f|\n")
_ENOUGH = 1_000
"""Characters after which any line end will do: some texts have no empty lines."""


def paragraph_starts(text: str) -> list[int]:
    """Where paragraphs begin, the first at 0: after empty lines and form feeds, in long runs after any line.

    The ends of lines belong to the paragraph before them, so that the paragraphs, joined, are the text.
    """
    starts = [0]
    for found in _BREAK.finditer(text):
        end = found.end()
        if end < len(text) and (found.group() != "\n" or end - starts[-1] >= _ENOUGH):
            starts.append(end)
    return starts

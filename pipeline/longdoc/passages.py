"""A document as passages that people can read: ranges of tokens that end where sentences or lines do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longdoc.types import Span

__all__ = ["passages_read", "split_passages"]

_SENTENCE_ENDS = frozenset(".!?;:。！？；؟؛।")


def split_passages(
    text: str, offsets: NDArray[np.int32], shortest: int = 16, longest: int = 96
) -> list[tuple[int, int]]:
    """Token ranges that end at a sentence or line end where one comes in time.

    Args:
        text: the document's.
        offsets: int32 (T, 2), code points.
        shortest, longest: tokens of a passage; the last one may be shorter.

    Returns:
        Half-open token ranges that partition `[0, T)`.
    """
    ranges: list[tuple[int, int]] = []
    start, count = 0, len(offsets)
    for token in range(count):
        length = token + 1 - start
        end = int(offsets[token, 1])
        following = int(offsets[token + 1, 0]) if token + 1 < count else len(text)
        at_break = (text[end - 1 : end] in _SENTENCE_ENDS and following > end) or "\n" in text[end:following]
        if length >= longest or (length >= shortest and at_break):
            ranges.append((start, token + 1))
            start = token + 1
    if start < count:
        ranges.append((start, count))
    return ranges


def passages_read(ranges: Sequence[tuple[int, int]], cores: Sequence[Span]) -> list[tuple[int, int]]:
    """The parts of the passages that were read: chunks left out by `keep` leave no passage behind."""
    merged: list[list[int]] = []
    for core in cores:
        if merged and merged[-1][1] == core.start:
            merged[-1][1] = core.end
        else:
            merged.append([core.start, core.end])
    parts = []
    position = 0
    for start, end in ranges:
        while position < len(merged) and merged[position][1] <= start:
            position += 1
        at = position
        while at < len(merged) and merged[at][0] < end:
            left, right = max(start, merged[at][0]), min(end, merged[at][1])
            if left < right:
                parts.append((left, right))
            at += 1
    return parts

"""A document as passages that people can read: ranges of tokens that end where sentences or lines do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longdoc.text.sentences import sentence_starts
from longdoc.types import Span

__all__ = ["passages_read", "split_passages"]

_HALF_STOPS = frozenset(";:；؛")


def split_passages(
    text: str, offsets: NDArray[np.int32], shortest: int = 16, longest: int = 96, language: str | None = None
) -> list[tuple[int, int]]:
    """Token ranges that end where a sentence, a clause or a line does, if one comes in time.

    Args:
        text: the document's.
        offsets: int32 (T, 2), code points.
        shortest, longest: tokens of a passage; the last one may be shorter.
        language: of the text, for its abbreviations; None = any.

    Returns:
        Half-open token ranges that partition `[0, T)`.
    """
    ranges: list[tuple[int, int]] = []
    start, count = 0, len(offsets)
    if not count:
        return []
    begins = np.asarray(sentence_starts(text, language))
    following = np.append(offsets[1:, 0], len(text))
    sentence_ends = np.searchsorted(begins, following, "right") > np.searchsorted(begins, offsets[:, 1], "left")
    for token in range(count):
        length = token + 1 - start
        end, after = int(offsets[token, 1]), int(following[token])
        clause_ends = text[end - 1 : end] in _HALF_STOPS and after > end
        at_break = sentence_ends[token] or clause_ends or "\n" in text[end:after]
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

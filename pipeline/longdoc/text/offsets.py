"""Offsets of tokens made to mean what the contract says: `text[start:end]` is the token's text, in code points.

Three things are put right in what the tokenizer reports:
- a token may claim the white space that its marker stands for (`Ġword`, `▁word`): spans begin and end with a word;
- under NFC and NFKC several code points become one, and only the first of them is claimed: the end of the token moves
  over the combining marks and conjoining jamo that follow it and belong to no token. This is also what keeps a
  letter and an accent that the tokenizer deletes (BERT's lower-casing) in one span;
- bounds: 0 <= start <= end <= len(text).
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["attaches", "covered_characters", "repair_offsets"]

_FIRST_MARK = 0x300  # no code point below it attaches to the one before

_SPACE = np.array([chr(point).isspace() for point in range(0x3002)])  # no white space above U+3000


@cache
def attaches(point: int) -> bool:
    """Whether a code point can become part of the character before it under NFC or NFKC.

    True for combining marks and for the vowels and final consonants of conjoining jamo, also in disguise: half-width
    voicing marks, half-width and compatibility jamo, which NFKC turns into such. (Unicode Standard Annex 15; chapter
    3.12 for jamo.)
    """
    first = unicodedata.normalize("NFKD", chr(point))[0]
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff" or "\ud7b0" <= first <= "\ud7fb"


def repair_offsets(offsets: NDArray[np.int32], text: str) -> NDArray[np.int32]:
    """The offsets of `text`'s tokens with the three faults above put right.

    Args:
        offsets: int32[n, 2] as reported, starts in rising order.
        text: what was encoded, without lone surrogates.

    Returns:
        int32[n, 2]. What lies between a token and the next is white space or was dropped by the tokenizer.
    """
    if not len(offsets):
        return offsets
    points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    starts = np.clip(offsets[:, 0], 0, len(text))
    ends = np.clip(offsets[:, 1], starts, len(text))
    if len(points):
        starts, ends = _without_edge_spaces(starts, ends, points)
        if not text.isascii():
            ends = _with_attached_marks(starts, ends, points)
    return np.stack([starts, ends], axis=1).astype(np.int32, copy=False)


def _without_edge_spaces(
    starts: NDArray[np.int32], ends: NDArray[np.int32], points: NDArray[np.uint32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    space = _SPACE[np.minimum(points, len(_SPACE) - 1)]
    last = len(points) - 1
    if not (space[np.minimum(starts, last)] | space[np.maximum(ends, 1) - 1]).any():
        return starts, ends
    positions = np.arange(len(points) + 1, dtype=np.int32)
    word_ahead = positions.copy()
    word_ahead[:-1][space] = len(points)
    word_ahead = np.minimum.accumulate(word_ahead[::-1])[::-1]
    word_behind = positions.copy()
    word_behind[1:][space] = 0
    word_behind = np.maximum.accumulate(word_behind)
    trimmed_starts, trimmed_ends = word_ahead[starts], word_behind[ends]
    has_word = trimmed_starts < trimmed_ends  # a token of white space alone keeps its place
    return np.where(has_word, trimmed_starts, starts), np.where(has_word, trimmed_ends, ends)


def _with_attached_marks(
    starts: NDArray[np.int32], ends: NDArray[np.int32], points: NDArray[np.uint32]
) -> NDArray[np.int32]:
    size = len(points) + 1
    claimed = np.cumsum(np.bincount(starts, minlength=size) - np.bincount(ends, minlength=size))[:-1] > 0
    free = np.flatnonzero(~claimed & (points >= _FIRST_MARK))
    if not len(free):
        return ends
    kinds, kind_of = np.unique(points[free], return_inverse=True)
    free = free[np.array([attaches(int(point)) for point in kinds])[kind_of]]
    behind_marks = np.arange(size, dtype=np.int32)
    behind_marks[free] = size
    behind_marks = np.minimum.accumulate(behind_marks[::-1])[::-1]
    return np.where(ends > starts, behind_marks[ends], ends)


def covered_characters(offsets: NDArray[np.int32]) -> int:
    """How many characters lie under at least one of the tokens with these offsets, int32[n, 2]."""
    if not len(offsets):
        return 0
    offsets = offsets[np.argsort(offsets[:, 0], kind="stable")]
    reached = np.concatenate([[0], np.maximum.accumulate(offsets[:-1, 1])])
    return int(np.maximum(0, offsets[:, 1] - np.maximum(offsets[:, 0], reached)).sum())

"""The words of a text as its tokens give them: what tags are put on, and where spans may begin and end.

A word is a run of letters and digits in one or several tokens; every other character stands alone. Scripts that are
written without spaces, or that glue particles to names, have no such runs to rely on: there every token is a word.

Shape letters: T tokens read, U words.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Subwords", "Words", "find_words"]

Subwords = Literal["first", "mean", "split"]
"""What a word of several tokens is judged by: its first token, the mean of all, or it falls apart into its tokens."""

# Han, kana, Hangul, Thai, Lao, Tibetan, Myanmar, Khmer (blocks of Unicode 15).
_UNSPACED = (
    *((0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3040, 0x318F)),
    *((0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97F), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF)),
    *((0xF900, 0xFAFF), (0xFF66, 0xFFDC), (0x1B000, 0x1B16F), (0x20000, 0x323AF)),
)
_DROPPED = frozenset({"Cc", "Cf", "Mn", "Mc", "Me"})  # tokenizers delete such characters without a trace
_OTHER, _LETTER, _UNSPACED_LETTER, _INVISIBLE = range(4)


@dataclass(frozen=True, repr=False)
class Words:
    """The words of what was read of a text.

    Attributes:
        first: int (U,), the number of each word's first token among those read.
        tokens: T.
        start, end: int (U,), code points of the text; both rise.
        runs: word ranges of what was read without a gap, which partition the words: nothing leads from one to another.
    """

    first: NDArray[np.int64]
    tokens: int
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    runs: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.first)


def find_words(text: str, offsets: NDArray[np.int32], numbers: NDArray[np.int32], subwords: Subwords) -> Words:
    """Group the tokens that were read into words.

    Args:
        text: the document's.
        offsets: int32 (T, 2), code points, starts in rising order.
        numbers: int32 (T,), each token's number in the document; where one is left out, reading was interrupted.
        subwords: with `split` every token is a word, but for tokens that share a character.
    """
    count = len(offsets)
    if not count:
        nothing = np.zeros(0, dtype=np.int64)
        return Words(nothing, 0, nothing, nothing, ())
    starts, ends = offsets[:, 0].astype(np.int64), offsets[:, 1].astype(np.int64)
    breaks = np.diff(numbers) != 1
    shared = (starts[1:] < ends[:-1]) | ((starts[:-1] == ends[:-1]) & (starts[1:] == ends[:-1]))
    joined = shared if subwords == "split" else shared | _inside_words(text, starts, ends)
    begins = np.concatenate([[True], ~joined | breaks])
    first = np.flatnonzero(begins)
    interrupted = np.flatnonzero(np.concatenate([[False], breaks]))
    edges = [0, *np.searchsorted(first, interrupted).tolist(), len(first)]
    return Words(
        first=first,
        tokens=count,
        start=np.minimum.reduceat(starts, first),
        end=np.maximum.accumulate(np.maximum.reduceat(ends, first)),
        runs=tuple((left, right) for left, right in pairwise(edges) if left < right),
    )


def _inside_words(text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool (T - 1,): between a token and the next there is nothing but what tokenizers delete, and both meet there with
    letters or digits of a script that has words."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    known, kind_of = np.unique(points, return_inverse=True)
    kinds = np.array([_kind(int(point)) for point in known])[kind_of]
    seen = np.concatenate([[0], np.cumsum(kinds != _INVISIBLE)])
    left, right = np.maximum(ends[:-1], 1), np.maximum(starts[1:], ends[:-1])
    touching = seen[right] == seen[ends[:-1]]
    # An accent at the edge of a token belongs to the letter before it.
    bearer = np.maximum.accumulate(np.where(kinds != _INVISIBLE, np.arange(len(kinds)), 0))
    before = kinds[bearer[left - 1]]
    behind = kinds[np.minimum(starts[1:], len(kinds) - 1)]
    return np.asarray(touching & (before == _LETTER) & ((behind == _LETTER) | (behind == _INVISIBLE)))


def _kind(point: int) -> int:
    character = chr(point)
    if any(low <= point <= high for low, high in _UNSPACED):
        return _UNSPACED_LETTER
    if character.isalnum():
        return _LETTER
    if not character.isspace() and (point == 0xFFFD or unicodedata.category(character) in _DROPPED):
        return _INVISIBLE
    return _OTHER

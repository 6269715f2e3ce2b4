"""Which tokens make up a word, whatever the tokenizer: by where they stand in the text, not by marks in their names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST_WORD", "first_of_word"]

LONGEST_WORD = 16
"""Tokens of the longest word. Scripts without spaces and encoded data have no others."""

# Characters that are written without spaces and carry meaning one by one: kana, CJK ideographs with their extensions
# and compatibility forms (Unicode 15, chapter 18).
_CJK = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))


def first_of_word(text: str, offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each token the number of the first token of its word.

    A word is a run of tokens that touch: between one and the next is no white space, and neither stands at that edge
    with a CJK character. Tokens that share a character (bytes of it) always belong together.

    Args:
        text: the document's.
        offsets: int32[T, 2], code points of `text`, in order.

    Returns:
        int32[T], rising; a token that begins a word has its own number.
    """
    tokens = len(offsets)
    numbers = np.arange(tokens, dtype=np.int32)
    if tokens < 2:
        return numbers
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    last = len(points) - 1
    spaces_before = np.concatenate([[0], np.cumsum(_spaces(points))])
    edge = np.clip(offsets[:-1, 1], 1, last + 1)  # one past the last character of a token
    start = np.clip(offsets[1:, 0], 0, last)  # the first character of the next
    shared = offsets[1:, 0] < offsets[:-1, 1]
    gap = spaces_before[np.maximum(start + 1, edge - 1)] - spaces_before[edge - 1] > 0
    cjk = _within(points[edge - 1], _CJK) | _within(points[start], _CJK)
    begins = np.concatenate([[True], gap | (cjk & ~shared)])
    first = np.maximum.accumulate(np.where(begins, numbers, 0))
    first += (numbers - first) // LONGEST_WORD * LONGEST_WORD
    return first.astype(np.int32, copy=False)


def _spaces(points: NDArray[np.uint32]) -> NDArray[np.bool_]:
    kinds, kind_of = np.unique(points, return_inverse=True)
    space = np.array([chr(point).isspace() for point in kinds])
    return space[kind_of]


def _within(points: NDArray[np.uint32], ranges: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(points), dtype=np.bool_)
    for low, high in ranges:
        inside |= (points >= low) & (points <= high)
    return inside

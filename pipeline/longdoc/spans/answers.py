"""Which places of a document may be the answer to a question, and in which chunk each of them is scored.

A place is a run of tokens that one chunk shows as a whole. Where several chunks show it, it is scored once, by the rule
that gives tokens to cores: in the chunk in whose core its middle lies, or the nearest to that which shows all of it. A
place of no more than `overlap` + 1 tokens is shown by some chunk wherever it stands.

Shape letters: T tokens that are read, K chunks, S rows of scores: for each chunk one row for "not here" and then one
for each of its tokens, so that tokens in overlaps have several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longdoc.spans.alignment import touched
from longdoc.spans.words import Words
from longdoc.types import Span

__all__ = ["AnswerPlaces", "Candidates", "FoundPlace", "GoldCounts", "gold_places", "where_answers_may_be"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Candidates(NamedTuple):
    """Places that a chunk answers for: the rows of scores of their first and last tokens, int64 (C,) each."""

    first: Ints
    last: Ints


class FoundPlace(NamedTuple):
    """A place with its score: the first and the last of the tokens that are read, and the number of its chunk."""

    score: float
    first: int
    last: int
    chunk: int


@dataclass
class GoldCounts:
    """What became of the right answers of a document.

    Attributes:
        moved: begin or end inside a word and were grown to its edges.
        unread: have no token that was read.
    """

    moved: int = 0
    unread: int = 0


@dataclass(frozen=True, repr=False)
class AnswerPlaces:
    """Where answers may be in a document.

    Attributes:
        chunks: int64 (K, 2), the range of read tokens that each chunk shows; starts and ends rise.
        begins, ends: bool (T,), whether an answer may begin, may end with a token.
        gold: int64 (G, 2), first and last token of each right answer that was read.
        has_answer: whether there is a right answer at all.
    """

    chunks: Ints
    begins: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    gold: Ints
    has_answer: bool = False

    @property
    def rows(self) -> Ints:
        """int64 (K,), the row of scores that says "not here" for each chunk; those of its tokens follow."""
        sizes = 1 + self.chunks[:, 1] - self.chunks[:, 0]
        return np.asarray(np.concatenate([[0], np.cumsum(sizes)[:-1]]))

    @property
    def scores(self) -> int:
        """S."""
        return int((1 + self.chunks[:, 1] - self.chunks[:, 0]).sum())

    def candidates(self, number: int, longest: int) -> tuple[Ints, Ints]:
        """First and last token, int64 (C,) each, of the places of at most `longest` tokens that a chunk answers for."""
        start, end = self.chunks[number]
        first = np.arange(start, end)[:, None]
        last = first + np.arange(min(longest, end - start))
        shown = last < end
        possible = shown & self.begins[first] & self.ends[np.minimum(last, end - 1)]
        if number:
            before = self.chunks[number - 1, 1]
            possible &= (last >= before) | (first + last > before - 1 + start)
        if number + 1 < len(self.chunks):
            after = self.chunks[number + 1, 0]
            possible &= (first < after) | (first + last <= end - 1 + after)
        rows, columns = np.nonzero(possible)
        return rows + start, rows + columns + start

    def shown(self, places: Ints) -> NDArray[np.bool_]:
        """Whether some chunk shows all of a place: first and last tokens, int64 (G, 2) -> bool (G,)."""
        inside = (self.chunks[:, 0] <= places[:, :1]) & (places[:, 1:] < self.chunks[:, 1])
        return np.asarray(inside.any(axis=1))

    def all_candidates(self, longest: int) -> tuple[Candidates, NDArray[np.bool_]]:
        """Those of all chunks by their rows of scores, and which of them are right, bool (C,)."""
        firsts, lasts, right = [], [], []
        wanted = {(int(first), int(last)) for first, last in self.gold}
        for number, row in enumerate(self.rows):
            first, last = self.candidates(number, longest)
            shift = row + 1 - self.chunks[number, 0]
            firsts.append(first + shift)
            lasts.append(last + shift)
            hits = np.zeros(len(first), dtype=np.bool_)
            for a, b in wanted:
                hits |= (first == a) & (last == b)
            right.append(hits)
        return Candidates(np.concatenate(firsts), np.concatenate(lasts)), np.concatenate(right)

    def best(self, scores: Floats, longest: int, keep: int) -> tuple[list[FoundPlace], float]:
        """The best places, and the logarithm of the sum of exp(score) over all of them.

        Args:
            scores: (S, 2), of beginning and of ending with a token; a place has the sum.
            longest: tokens of a place.
            keep: how many; of equal ones those that begin, then end, earlier.

        Memory: a chunk's tokens times `longest`.
        """
        found: list[FoundPlace] = []
        total = -np.inf
        for number, row in enumerate(self.rows):
            first, last = self.candidates(number, longest)
            if not len(first):
                continue
            shift = row + 1 - self.chunks[number, 0]
            values = scores[first + shift, 0] + scores[last + shift, 1]
            high = values.max()
            total = float(np.logaddexp(total, high + np.log(np.exp(values - high).sum())))
            least = np.partition(values, -keep)[-keep] if len(values) > keep else -np.inf
            chosen = np.flatnonzero(values >= least)
            order = chosen[np.lexsort((last[chosen], first[chosen], -values[chosen]))][:keep]
            found += [FoundPlace(float(values[n]), int(first[n]), int(last[n]), number) for n in order]
            found = sorted(found, key=lambda place: (-place.score, place.first, place.last))[:keep]
        return found, total

    def nowhere(self, scores: Floats) -> float:
        """The score of the document's having no answer: the least of its chunks, since an answer in any one counts."""
        return float(scores[self.rows].sum(axis=1).min())

    def packed(self) -> NDArray[np.int32]:
        """All of it as int32 (n,)."""
        flags = self.begins.astype(np.int32) + 2 * self.ends.astype(np.int32)
        sizes = [len(self.chunks), len(flags), len(self.gold), int(self.has_answer)]
        parts = [np.array(sizes), self.chunks.ravel(), flags, self.gold.ravel()]
        return np.concatenate(parts).astype(np.int32)

    @classmethod
    def unpacked(cls, values: NDArray[np.int32]) -> AnswerPlaces:
        """The same again from `packed`."""
        chunks, tokens, gold, has_answer = (int(size) for size in values[:4])
        bounds = np.cumsum([4, 2 * chunks, tokens, 2 * gold])
        spans, flags, right = (values[a:b].astype(np.int64) for a, b in pairwise(bounds))
        return cls(spans.reshape(-1, 2), flags % 2 == 1, flags >= 2, right.reshape(-1, 2), has_answer == 1)


def where_answers_may_be(
    text: str, words: Words, numbers: NDArray[np.int32], chunks: Sequence[Span], answers: Sequence[Span] = ()
) -> tuple[AnswerPlaces, GoldCounts]:
    """The places of a document, which begin and end where words do and not with white space.

    Args:
        text, words: the document's.
        numbers: int32 (T,), which token of the document each token that is read is.
        chunks: in tokens of the document, in order.
        answers: the right ones, code points of `text`.
    """
    edges = zip(words.start.tolist(), words.end.tolist(), strict=True)
    said = np.array([bool(text[start:end].strip()) for start, end in edges], dtype=np.bool_)
    begins, ends = np.zeros((2, words.tokens), dtype=np.bool_)
    begins[words.first[said]] = True
    ends[_behind(words)[said] - 1] = True
    shown = [np.searchsorted(numbers, [start, end]) for start, end in chunks]
    gold, counts = gold_places(text, words, answers)
    places = np.array(shown, dtype=np.int64).reshape(-1, 2)
    right = np.array(gold, dtype=np.int64).reshape(-1, 2)
    return AnswerPlaces(places, begins, ends, right, bool(answers)), counts


def gold_places(text: str, words: Words, answers: Sequence[Span]) -> tuple[list[tuple[int, int]], GoldCounts]:
    """First and last token of each right answer, each once; an answer takes all words that it touches."""
    counts = GoldCounts()
    found: dict[tuple[int, int], None] = {}
    behind = _behind(words)
    starts = np.array([start for start, _ in words.runs], dtype=np.int64)
    for start, end in answers:
        first, last, exact = touched(text, words, start, end)
        if first == last or (starts[starts > first] < last).any():
            counts.unread += 1
            continue
        counts.moved += not exact
        found[int(words.first[first]), int(behind[last - 1]) - 1] = None
    return list(found), counts


def _behind(words: Words) -> Ints:
    """int64 (U,): the token behind each word."""
    return np.append(words.first[1:], words.tokens) if len(words) else words.first

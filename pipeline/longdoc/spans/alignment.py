"""Spans of characters to tags of words, and back.

Forth: a span takes all words that it touches, so one that begins or ends inside a word grows to the word's edge. What
does not fit is counted, never lost without a word. White space at the edges of a span does not count.
Back: a run of words is a span from the first one's first character to the last one's last.

Shape letters: U words, M layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longdoc.spans.tags import TagLayout
from longdoc.spans.words import Words
from longdoc.types import LabelledSpan

__all__ = ["Alignment", "align", "trimmed", "word_spans"]


@dataclass
class Alignment:
    """How many gold spans became tags, and how.

    Attributes:
        spans: all of them.
        moved: begin or end inside a word and were grown to its edges, or at characters that no token stands for.
        unread: have no token that was read (characters that the tokenizer drops, white space, parts left out by
            `chunking.keep`), or reach over such a part: they are not learned.
        overlapping: overlap a longer one in the same layer: they are not learned.
    """

    spans: int = 0
    moved: int = 0
    unread: int = 0
    overlapping: int = 0

    def __add__(self, other: Alignment) -> Alignment:
        return Alignment(
            self.spans + other.spans,
            self.moved + other.moved,
            self.unread + other.unread,
            self.overlapping + other.overlapping,
        )


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its edges; empty where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def touched(text: str, words: Words, start: int, end: int) -> tuple[int, int, bool]:
    """The range of words that a span of characters touches, empty if none, and whether its edges are theirs."""
    start, end = trimmed(text, start, end)
    first = int(np.searchsorted(words.end, start, side="right"))
    last = int(np.searchsorted(words.start, end, side="left"))
    if start >= end or first >= last:
        return 0, 0, False
    return first, last, (int(words.start[first]), int(words.end[last - 1])) == (start, end)


def align(
    text: str, words: Words, spans: Sequence[LabelledSpan], labels: Sequence[str], layout: TagLayout
) -> tuple[NDArray[np.int64], Alignment]:
    """The right tags of a document's words, int64 (U, M), and what became of its spans.

    Args:
        text, words: the document's.
        spans: gold, in any order.
        labels: names of the labels, in the order of the layout's numbers; must hold those of the spans.
        layout: the tags.
    """
    tags = np.tile(np.array(layout.outside, dtype=np.int64), (len(words), 1))
    taken = np.zeros(tags.shape, dtype=np.bool_)
    counts = Alignment(spans=len(spans))
    numbers = {label: number for number, label in enumerate(labels)}
    run_starts = np.array([start for start, _ in words.runs], dtype=np.int64)
    for span in sorted(spans, key=lambda span: (span.start - span.end, span.start, span.label)):
        first, last, exact = touched(text, words, span.start, span.end)
        if first == last or (run_starts[(run_starts > first)] < last).any():
            counts.unread += 1
            continue
        layer = layout.layer_of(numbers[span.label])
        if taken[first:last, layer].any():
            counts.overlapping += 1
            continue
        counts.moved += not exact
        taken[first:last, layer] = True
        tags[first:last, layer] = layout.spell(layer, numbers[span.label], last - first)
    return tags, counts


def word_spans(tags: NDArray[np.int64], layout: TagLayout) -> list[tuple[int, int, int, int]]:
    """The spans that tags (U, M) of words without a gap spell: layer, label, first word, end (exclusive)."""
    found: list[tuple[int, int, int, int]] = []
    count = len(tags)
    for layer in range(tags.shape[1] if count else 0):
        path = tags[:, layer]
        inside, labels = layout.inside[layer][path], layout.labels[layer][path]
        goes_on = np.concatenate([[False], layout.continues[layer][path[:-1], path[1:]]])
        starts = np.flatnonzero(inside & ~goes_on)
        stops = np.flatnonzero(np.append(inside[:-1] & ~goes_on[1:], inside[-1])) + 1
        found += [(layer, int(labels[start]), int(start), int(stop)) for start, stop in zip(starts, stops, strict=True)]
    return found

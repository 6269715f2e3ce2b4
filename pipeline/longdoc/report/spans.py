"""Spans as rows of a table, and the colours of their labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.pages import page_words
from longdoc.types import ScoredSpan

__all__ = ["COLOURS", "FoundSpan", "LabelColour", "found_spans", "label_colours"]

COLOURS = 6
"""The style sheet has a class for each; labels take them in turn."""


@dataclass(frozen=True, repr=False)
class FoundSpan:
    """A span as a row of a table.

    Attributes:
        number: of the span in its document, from 1.
        span: the span.
        text: what stands there.
        chunk: number of the chunk in which it begins, from 1; None where nobody says.
        page: on which page or pages it stands, in words; empty without pages.
    """

    number: int
    span: ScoredSpan
    text: str
    chunk: int | None
    page: str = ""

    @property
    def score(self) -> str:
        """Its probability; empty where nobody gave one."""
        return "" if math.isnan(self.span.score) else f"{self.span.score:.3f}"

    @property
    def note(self) -> str:
        """What is said when one points at it."""
        score = f"probability {self.score}" if self.score else ""
        chunk = "" if self.chunk is None else f"chunk {self.chunk}"
        return ", ".join(filter(None, (self.span.label, score, chunk, self.page)))


@dataclass(frozen=True, repr=False)
class LabelColour:
    """A label, the class of the style sheet that colours it, and how many spans have it."""

    label: str
    colour: int
    count: int


def found_spans(text: str, spans: Sequence[ScoredSpan], chunks: Sequence[int]) -> list[FoundSpan]:
    """The rows of the table; `chunks` are the numbers of the chunks in which they begin, or empty."""
    numbers: Sequence[int | None] = chunks if len(chunks) == len(spans) else [None] * len(spans)
    return [
        FoundSpan(number, span, text[span.start : span.end], chunk, page_words(span.page, span.last_page))
        for number, (span, chunk) in enumerate(zip(spans, numbers, strict=True), 1)
    ]


def label_colours(spans: Sequence[ScoredSpan]) -> list[LabelColour]:
    """The legend: labels in alphabetical order, which take the colours in turn."""
    counts = Counter(span.label for span in spans)
    return [LabelColour(label, number % COLOURS, counts[label]) for number, label in enumerate(sorted(counts))]

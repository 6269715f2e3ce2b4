"""Spans in their text: runs of characters under the same spans, for a page to colour."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.pages import page_numbers, page_words
from longdoc.readers.parsed import PageSpan
from longdoc.types import ScoredSpan

__all__ = ["COLOURS", "FoundSpan", "SpanRun", "found_spans", "page_starts", "span_runs"]

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


@dataclass(frozen=True, repr=False)
class SpanRun:
    """A run of text under the same spans.

    Attributes:
        text: the runs of a document, joined, are its text.
        names: labels and scores of the spans over it, for people; empty outside.
        colour: class of the style sheet: that of the shortest span over it.
        ends: labels of the spans that end with it.
        page, begins_page: as of a `Piece`.
    """

    text: str
    names: str
    colour: int
    ends: tuple[str, ...]
    page: int | None = None
    begins_page: bool = False


def found_spans(text: str, spans: Sequence[ScoredSpan], chunks: Sequence[int]) -> list[FoundSpan]:
    """The rows of the table; `chunks` are the numbers of the chunks in which they begin, or empty."""
    numbers: Sequence[int | None] = chunks if len(chunks) == len(spans) else [None] * len(spans)
    return [
        FoundSpan(number, span, text[span.start : span.end], chunk, page_words(span.page, span.last_page))
        for number, (span, chunk) in enumerate(zip(spans, numbers, strict=True), 1)
    ]


def page_starts(pages: Sequence[PageSpan]) -> set[int]:
    """Where the pages of a text begin that hold something."""
    return {page.start for page in pages if page.start < page.end}


def span_runs(text: str, spans: Sequence[ScoredSpan], pages: Sequence[PageSpan] = ()) -> list[SpanRun]:
    """Cut a text at the ends of all spans, which may overlap, and where its pages begin."""
    begins = page_starts(pages)
    labels = sorted({span.label for span in spans})
    starts: dict[int, list[ScoredSpan]] = {}
    for span in spans:
        starts.setdefault(span.start, []).append(span)
    cuts = sorted({0, len(text), *starts, *(span.end for span in spans), *begins})
    runs = []
    over: list[ScoredSpan] = []
    for start, end in itertools.pairwise(cuts):
        over = [span for span in over if span.end > start] + starts.get(start, [])
        shortest = min(over, key=lambda span: span.end - span.start, default=None)
        runs.append(
            SpanRun(
                text[start:end],
                ", ".join(f"{span.label} {span.score:.3f}" for span in over),
                0 if shortest is None else labels.index(shortest.label) % COLOURS,
                tuple(span.label for span in over if span.end == end),
                page_numbers(pages, start, start)[0],
                start in begins,
            )
        )
    return runs

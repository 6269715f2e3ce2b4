"""A text as a page shows it: paragraphs of pieces, each under the same evidence and the same spans."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.pages import page_numbers, page_words
from longdoc.readers.parsed import PageSpan
from longdoc.report.paragraphs import paragraph_starts
from longdoc.report.reading import ReadingMap
from longdoc.types import EvidencePassage, Occlusion, ScoredSpan

__all__ = ["LEVELS", "LOUD", "MarkedText", "Passage", "Piece", "marked_text", "page_starts", "shade_level"]

LEVELS = 5
"""Steps of shading; the style sheet has one class for each."""
FAINT = 0.05
"""Passages below this share of the strongest of their label are left plain."""
LOUD = 0.5
"""In logits under the temperature of the model: where even the strongest passage weighs less, the page stays pale. It
turns a probability of 0.5 into 0.62."""


@dataclass(frozen=True, repr=False)
class Passage:
    """A run of text under the same evidence.

    Attributes:
        start, end: code points.
        weights: what it adds to the score of each label, in logit space; where the evidence of a label overlaps, its
            weights add up. None = the label has no evidence here.
        chunk: number of the chunk that answers for its first character, from 1; None where nobody says.
        page, last_page: as of a `ScoredSpan`.
        occlusions: of each label, what became of the score without this passage, where that was tried.
    """

    start: int
    end: int
    weights: tuple[float | None, ...]
    chunk: int | None
    page: int | None
    last_page: int | None
    occlusions: tuple[Occlusion | None, ...]

    @property
    def where(self) -> str:
        """`chunk 4, page 12`, as far as it is known."""
        chunk = "" if self.chunk is None else f"chunk {self.chunk}"
        return ", ".join(filter(None, (chunk, page_words(self.page, self.last_page))))


@dataclass(frozen=True, repr=False)
class Piece:
    """A run of text under the same passage and the same spans.

    Attributes:
        text: the pieces of a document, joined, are its text.
        passage: number of the passage that it belongs to, from 0.
        begins_passage: whether it is the first piece of that.
        spans: numbers of the spans over it, from 0, the shortest first.
        begins, ends: numbers of the spans that begin, or end, with it.
        page, begins_page: the page that it lies on, and whether it is the first piece there.
        read: False where no chunk answers for it.
    """

    text: str
    passage: int | None = None
    begins_passage: bool = False
    spans: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    page: int | None = None
    begins_page: bool = False
    read: bool = True


@dataclass(frozen=True, repr=False)
class MarkedText:
    """The passages of a document, and its paragraphs of pieces."""

    passages: list[Passage]
    paragraphs: list[list[Piece]]

    def strongest(self, label: int) -> float:
        """The greatest weight of a label by size, 0 where it has none."""
        return max((abs(passage.weights[label] or 0.0) for passage in self.passages), default=0.0)


def shade_level(weight: float | None, strongest: float, loud: float = LOUD) -> int:
    """1 (weak) to 5 (as strong as the strongest, `loud` at least), 0 for what is faint beside it or nothing at all."""
    if weight is None or abs(weight) <= FAINT * strongest:
        return 0
    return min(LEVELS, math.ceil(LEVELS * abs(weight) / max(strongest, loud)))


def page_starts(pages: Sequence[PageSpan]) -> set[int]:
    """Where the pages of a text begin that hold something."""
    return {page.start for page in pages if page.start < page.end}


def marked_text(
    text: str,
    evidence: Sequence[Sequence[EvidencePassage]] = (),
    spans: Sequence[ScoredSpan] = (),
    pages: Sequence[PageSpan] = (),
    reading: ReadingMap | None = None,
) -> MarkedText:
    """Cut a text wherever something begins or ends.

    Args:
        text: the document's.
        evidence: of each label, in any order; passages may overlap.
        spans: in any order; may overlap.
        pages: of the document.
        reading: which chunk answers for what; None = nobody knows, and all of it counts as read.
    """
    reading = reading or ReadingMap()
    ranges = sorted({(passage.start, passage.end) for passages in evidence for passage in passages})
    found = [_by_range(passages) for passages in evidence]
    under = _runs(len(text), ranges)
    begins = page_starts(pages)
    breaks = set(paragraph_starts(text)) | begins
    edges = {
        edge for places in (ranges, [span[:2] for span in spans], reading.unread) for each in places for edge in each
    }
    cuts = sorted({0, len(text), *breaks, *edges})

    passages: list[Passage] = []
    number_of: dict[int, int] = {}
    for number, (start, end, over) in enumerate(under):
        if over:
            number_of[number] = len(passages)
            told = [[items for each in over for items in label.get(ranges[each], ())] for label in found]
            passages.append(
                Passage(
                    start,
                    end,
                    tuple(math.fsum(item.says for item in items) if items else None for items in told),
                    reading.chunk_at(start),
                    *page_numbers(pages, start, end),
                    tuple(
                        next(filter(None, (getattr(item, "occlusion", None) for item in items)), None) for items in told
                    ),
                )
            )
    starts = [start for start, _, _ in under]
    over_spans = _runs(len(text), [(span.start, span.end) for span in spans])
    span_starts = [start for start, _, _ in over_spans]
    unread_ends = [end for _, end in reading.unread]

    paragraphs: list[list[Piece]] = []
    for start, end in itertools.pairwise(cuts):
        if start in breaks or not paragraphs:
            paragraphs.append([])
        over = over_spans[bisect.bisect_right(span_starts, start) - 1][2] if over_spans else ()
        over = tuple(sorted(over, key=lambda each: spans[each].end - spans[each].start))
        beside = bisect.bisect_right(unread_ends, start)
        passage = number_of.get(bisect.bisect_right(starts, start) - 1)
        paragraphs[-1].append(
            Piece(
                text[start:end],
                passage,
                passage is not None and passages[passage].start == start,
                over,
                tuple(each for each in over if spans[each].start == start),
                tuple(each for each in over if spans[each].end == end),
                page_numbers(pages, start, start)[0],
                start in begins,
                not (beside < len(reading.unread) and reading.unread[beside][0] <= start),
            )
        )
    return MarkedText(passages, paragraphs)


def _runs(length: int, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """`[0, length)` cut at the ends of the ranges, each part with the numbers of the ranges over it."""
    starts: dict[int, list[int]] = {}
    for number, (start, _) in enumerate(ranges):
        starts.setdefault(start, []).append(number)
    cuts = sorted({0, length, *(edge for each in ranges for edge in each)})
    runs = []
    over: list[int] = []
    for start, end in itertools.pairwise(cuts):
        over = [number for number in over if ranges[number][1] > start] + starts.get(start, [])
        runs.append((start, end, tuple(over)))
    return runs


def _by_range(passages: Sequence[EvidencePassage]) -> dict[tuple[int, int], list[EvidencePassage]]:
    found: dict[tuple[int, int], list[EvidencePassage]] = {}
    for passage in passages:
        found.setdefault((passage.start, passage.end), []).append(passage)
    return found

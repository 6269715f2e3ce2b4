"""On which pages of a document its spans, answers and passages stand, where the reader knows pages."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from longdoc.readers.parsed import PageSpan, told_pages
from longdoc.types import AnswerSpan, EvidencePassage, ScoredSpan

__all__ = ["page_numbers", "page_words", "with_pages"]

Placed = TypeVar("Placed", AnswerSpan, EvidencePassage, ScoredSpan)


def page_numbers(pages: Sequence[PageSpan], start: int, end: int) -> tuple[int | None, int | None]:
    """The page of the first character of `[start, end)`, and that of its last one if it is another.

    Args:
        pages: of the document, as `told_pages` gives them; none = (None, None).
    """
    if not pages:
        return None, None
    first, last = (
        pages[max(0, bisect.bisect_right(pages, place, key=lambda page: page.start) - 1)].number
        for place in (start, max(start, end - 1))
    )
    return first, last if last != first else None


def page_words(page: int | None, last_page: int | None = None) -> str:
    """For people: `page 3`, `pages 3 to 4`, or nothing."""
    if page is None:
        return ""
    return f"page {page}" if last_page is None else f"pages {page} to {last_page}"


def with_pages(items: Sequence[Placed], meta: Mapping[str, Any]) -> tuple[Placed, ...]:
    """The same places with the numbers of their pages, given the document's `meta`; unchanged where it has none."""
    pages = told_pages(meta)
    if not pages:
        return tuple(items)
    numbers = [page_numbers(pages, item.start, item.end) for item in items]
    return tuple(item._replace(page=page, last_page=last) for item, (page, last) in zip(items, numbers, strict=True))

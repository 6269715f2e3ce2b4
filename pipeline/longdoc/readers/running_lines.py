"""Lines that run through the pages of a document: headers, footers, page numbers.

What a page says must not go with them, and pages of measurements are alike but for digits. So a line counts only if it
is the same on most pages at the same place, and only a page number may differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

__all__ = ["MOST_LINES", "without_running_lines"]

MOST_LINES = 3
"""Lines of a header or footer. Where more are alike at an end of the pages, their text is, and nothing is left out."""
_LONGEST_LINE = 300
_LEAST_PAGES = 3


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """Pages without their running lines.

    A line is one if more than half of the pages, and at least three, have it at the same place from the top, or from
    the bottom, and all lines between it and that end are running lines too. One number in it may differ, if it is the
    number of the page in the file plus a constant. Blank lines do not count. A page of which no line would be left
    keeps all.
    """
    number = _page_number(len(pages))
    lines = [page.split("\n") for page in pages]
    filled = [[place for place, line in enumerate(each) if line.strip()] for each in lines]
    shapes = [
        [set(_shapes(each[place], page, number)) for place in places]
        for page, (each, places) in enumerate(zip(lines, filled, strict=True))
    ]
    tops = _runs(shapes)
    bottoms = _runs([each[::-1] for each in shapes])
    kept = []
    for page, each, places, top, bottom in zip(pages, lines, filled, tops, bottoms, strict=True):
        if top + bottom >= len(places):
            kept.append(page)
            continue
        first = places[top - 1] + 1 if top else 0
        last = places[len(places) - bottom] if bottom else len(each)
        kept.append("\n".join(each[first:last]))
    return kept


def _runs(shapes: Sequence[Sequence[set[str]]]) -> list[int]:
    """How many running lines each page has at an end, given the shapes of its lines from there inwards."""
    runs = [0] * len(shapes)
    for depth in range(MOST_LINES + 1):
        going = [page for page, each in enumerate(shapes) if runs[page] == depth < len(each)]
        counts = Counter(shape for page in going for shape in shapes[page][depth])
        running = {shape for shape, count in counts.items() if count >= _LEAST_PAGES and 2 * count > len(shapes)}
        for page in going:
            runs[page] += not running.isdisjoint(shapes[page][depth])
    return [0] * len(shapes) if max(runs, default=0) > MOST_LINES else runs


def _shapes(line: str, page: int, number: re.Pattern[str]) -> Iterator[str]:
    """What a line has in common with those of other pages: itself, or itself but for a page number."""
    line = line.strip()
    if len(line) > _LONGEST_LINE:
        return
    yield line
    for found in number.finditer(line):
        yield f"{line[: found.start()]}\0{int(found[0]) - page}\0{line[found.end() :]}"


def _page_number(pages: int) -> re.Pattern[str]:
    """A number by itself. Parts of decimals, dates, times and ranges are none, but the first of `3/9` in nine pages."""
    joined = r"[.,:/\-\u2013]"
    of_all = rf"(?=/{pages}(?!\w|{joined}\d))"
    return re.compile(rf"(?<!\w)(?<!\d{joined})\d{{1,6}}(?!\w)(?:(?!{joined}\d)|{of_all})")

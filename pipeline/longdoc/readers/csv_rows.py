"""From physical lines to CSV rows, so that one stray quote never swallows the rows after it unseen."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from longdoc.errors import DocumentError, FailureReason
from longdoc.readers.lines import Line
from longdoc.readers.measure import UNPACKS_TO_TOO_MUCH, beyond_measure

__all__ = ["Row", "read_rows"]


class Row(NamedTuple):
    """One row, which may span several lines.

    Attributes:
        number: of its first line, from 1.
        cursor: of its first line.
        after: cursor of the line after it.
        cells: empty if there is a fault.
        fault: why the row cannot be used, or None.
        is_last: no row after it can be told apart from its text, so the rest of the file is lost.
    """

    number: int
    cursor: int
    after: int
    cells: list[str]
    fault: DocumentError | None
    is_last: bool = False


class _RowTooLargeError(Exception):
    pass


class _RowUnpacksTooFarError(Exception):
    pass


_LINE_BYTES = 256
"""What a line takes in memory beside its text: a stray quote may be followed by millions of short lines."""


class _Feed:
    """Hands lines to `csv.reader` and remembers those of the current row."""

    def __init__(self, lines: Iterator[Line], limit: int) -> None:
        self._lines = lines
        self._limit = limit
        self._waiting: deque[Line] = deque()
        self._size = self._packed = 0
        self.row: list[Line] = []
        self.ended = False

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        line = self.peek()
        if line is None:
            self.ended = True
            raise StopIteration
        self._waiting.popleft()
        self.row.append(line)
        self._size += len(line.text)
        if self._size > self._limit:
            raise _RowTooLargeError
        if line.packed is not None:
            self._packed += line.packed
            if beyond_measure(self._size + _LINE_BYTES * len(self.row), self._packed):
                raise _RowUnpacksTooFarError
        return line.text

    def begin_row(self) -> None:
        self.row, self._size, self._packed, self.ended = [], 0, 0, False

    def peek(self) -> Line | None:
        """The next line, left where it is."""
        if not self._waiting:
            line = next(self._lines, None)
            if line is not None:
                self._waiting.append(line)
        return self._waiting[0] if self._waiting else None

    def keep_first(self) -> None:
        """Take all lines of the row but its first for rows of their own."""
        self._waiting.extendleft(reversed(self.row[1:]))
        self.row = self.row[:1]


def read_rows(lines: Iterator[Line], delimiter: str, limit: int, width: int | None = None) -> Iterator[Row]:
    """All rows; those without `width` cells are faults. None takes any number (for the header).

    After a fault in the quotes of a row, reading goes on at the next line if that is safe: if the lines that the
    stray quote would swallow are complete rows by themselves. Otherwise nobody can tell rows from text any more, and
    the rest of the file belongs to the fault.
    """
    feed = _Feed(lines, limit)

    def stands_alone(line: Line) -> bool:
        try:
            rows = list(csv.reader([line.text], delimiter=delimiter, strict=True))
        except csv.Error:
            return False
        return line.fault is None and len(rows) == 1 and (width is None or len(rows[0]) == width)

    def swallowed(candidates: list[Line]) -> bool:
        """Whether these lines are rows, not parts of a text: every one that is not blank, and at least one."""
        filled = [line for line in candidates if line.text.strip()]
        return bool(filled) and all(map(stands_alone, filled))

    def can_resume() -> bool:
        row, following = feed.row, feed.peek()
        if len(row) > 1:
            inner = row[1:] if feed.ended or not swallowed(row[1:-1]) else row[1:-1]
            if swallowed(inner):
                feed.keep_first()
                return True
            return False
        if following is None or (row[0].fault is None and row[0].text.count('"') % 2 == 0):
            return True
        return stands_alone(following)

    rows = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin_row()
        cells: list[str] = []
        broken: tuple[FailureReason, str] | None = None
        try:
            cells = next(rows)
        except StopIteration:
            return
        except _RowUnpacksTooFarError:
            broken = ("zip_bomb", f"{UNPACKS_TO_TOO_MUCH}; close a quote, or give the file without compression")
        except _RowTooLargeError:
            broken = ("too_large", f"is longer than {limit} characters; raise `read.max_bytes`, or close a quote")
        except csv.Error:
            broken = (
                "unreadable",
                "has a quote that is not closed or not doubled, or a carriage return outside quotes",
            )
        fault = next((line.fault for line in feed.row if line.fault is not None), None)
        if broken is not None or (fault is not None and not cells):
            first = feed.row[0].number
            resumed = can_resume()
            if broken is None and fault is not None and fault.reason == "zip_bomb":
                broken = ("zip_bomb", f"{UNPACKS_TO_TOO_MUCH}; give the file without compression")
            reason, what = broken or ("too_large", f"is longer than {limit} bytes; raise `read.max_bytes`")
            tail = "" if resumed else " The rows after it cannot be told apart from its text and are not read."
            fault = DocumentError(reason, f"The row that begins on line {first} {what}.{tail}")
            yield _row(feed, [], fault, is_last=not resumed)
            if not resumed:
                return
            rows = csv.reader(feed, delimiter=delimiter, strict=True)
        elif fault is not None:
            yield _row(feed, [], fault)
        elif not cells and width != 1:
            continue  # a blank line; with one column it is an empty text
        elif width is not None and max(len(cells), 1) != width:
            if len(feed.row) > 1 and swallowed(feed.row[1:-1]):
                feed.keep_first()
            last = feed.row[-1].number
            lines_named = f"Line {last}" if len(feed.row) == 1 else f"The row from line {feed.row[0].number} to {last}"
            shape = f"{lines_named} must have {width} cells, as the header has, but has {len(cells)} instead."
            yield _row(feed, [], DocumentError("unreadable", shape))
        else:
            yield _row(feed, cells or [""], None)


def _row(feed: _Feed, cells: list[str], fault: DocumentError | None, is_last: bool = False) -> Row:
    first, last = feed.row[0], feed.row[-1]
    return Row(first.number, first.cursor, last.after, cells, fault, is_last)

"""Text built from the blocks of a formatted document: lines, paragraphs, headings, tables. All formats share it.

White space between two pieces of text is decided when the second one comes, so that empty blocks leave nothing behind
and a text does not begin or end with separators:

- an empty line lies between paragraphs, one line end between lines (list items, rows of a table);
- a tab lies between the cells of a row, also where one is empty;
- sections begin where their headings do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longdoc.readers.parsed import SectionStart

__all__ = ["LINE", "PARAGRAPH", "BlockText"]

LINE = 1
"""Line ends between blocks such as list items."""
PARAGRAPH = 2
"""Line ends between blocks such as paragraphs."""

_SPACES = re.compile(r"[ \t\n\r\f]+")


@dataclass
class _Table:
    """An open table: what stood before its row, how long the text was then, and whether a cell waited for it."""

    entered_fresh: bool
    lead: str = ""
    length: int = -1


class BlockText:
    """Collects the text of a document in reading order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._last = "\n"  # the last character; nothing counts as the end of a line
        self._pending = ""  # separators before the next text
        self._fresh = True  # a cell, or the document, has begun and holds nothing yet
        self._space = False  # a space before the next text, if that stands in the same line
        self._heading = 0
        self._tables: list[_Table] = []
        self._sections: list[SectionStart] = []

    def __len__(self) -> int:
        return self._length

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self._pieces)

    @property
    def sections(self) -> tuple[SectionStart, ...] | None:
        """Where the headings begin, in code points of `text`; None without headings."""
        return tuple(self._sections) or None

    def verbatim(self, text: str) -> None:
        """Text whose white space means something."""
        if not text:
            return
        pending = self._pending if self._length else ""
        if self._space and not pending and not self._last.isspace() and not text[0].isspace():
            pending = " "
        start = self._length + len(pending)
        if self._heading:
            self._sections.append(SectionStart(start, self._heading))
            self._heading = 0
        self._pieces += (pending, text)
        self._length = start + len(text)
        self._last = text[-1]
        self._pending, self._fresh, self._space = "", False, False

    def flow(self, text: str) -> None:
        """Text in which white space of any kind and length is one space, and none at the ends of a line."""
        if not text:
            return
        if "\n" in text or "  " in text or "\t" in text or "\r" in text or "\f" in text:
            text = _SPACES.sub(" ", text)
        words = text.strip(" ")
        if words is text:
            self.verbatim(text)
            return
        if text[0] == " ":
            self._space = True
        self.verbatim(words)
        if text[-1] == " ":
            self._space = True

    def block(self, strength: int = PARAGRAPH) -> None:
        """A block begins or ends here: at least `strength` line ends, `LINE` or `PARAGRAPH`."""
        if not self._fresh:
            self._pending = "\n" * max(strength, len(self._pending))
        self._space = False

    def line_break(self) -> None:
        """One line end more, as far as an empty line."""
        if not self._fresh:
            self._pending = "\n" * min(PARAGRAPH, len(self._pending) + 1)
        self._space = False

    def heading(self, level: int) -> None:
        """What comes next is a heading, and begins a section."""
        self.block(PARAGRAPH)
        self._heading = level

    def end_heading(self) -> None:
        """The heading ends; one without text begins no section."""
        self._heading = 0
        self.block(PARAGRAPH)

    def table(self, strength: int = PARAGRAPH) -> None:
        """A table begins, perhaps inside a cell."""
        self.block(strength)
        self._tables.append(_Table(self._fresh))

    def row(self) -> None:
        """A row of the open table begins."""
        table = self._tables[-1]
        if table.length < 0:
            table.lead = self._pending
        elif table.length != self._length:
            table.lead = "\n"
        table.length = self._length
        self._pending, self._fresh, self._space = table.lead, True, False

    def cell(self, first: bool) -> None:
        """A cell of the open row begins."""
        if not first:
            self._pending = (self._pending if self._fresh else "") + "\t"
        self._fresh, self._space = True, False

    def end_table(self, strength: int = PARAGRAPH) -> None:
        """The table ends."""
        table = self._tables.pop()
        if self._length == table.length or table.length < 0:  # nothing in its last row
            self._pending = table.lead if table.length >= 0 else self._pending
            self._fresh = table.entered_fresh
        elif self._fresh:  # empty cells at the end of the row
            self._pending, self._fresh = "", False
        self.block(strength)

    def join(self, other: BlockText) -> None:
        """The text of `other`, with its sections, as a block of its own."""
        self.block(PARAGRAPH)
        text = other.text
        if text:
            self.verbatim(text)
            start = self._length - len(text)
            self._sections += [SectionStart(start + place, level) for place, level in other._sections]

"""What a parser of a document format hands out, and how it travels from the sandbox as plain bytes.

A parser is a module with one public function, which `longdoc.readers.sandbox` calls in another process:

    def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument

`data` is the whole file, decompressed; `settings` is the format's section of the configuration as JSON has it. It
raises `DocumentError(reason, sentence)` for a document that it cannot answer for; the sentence is made of numbers and
names only. A `MemoryError` and any other exception are failures too, of which only the class is kept.

Paragraphs are told by the text itself: an empty line, or a form feed, lies between two of them.
"""

from __future__ import annotations

import bisect
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from longdoc.errors import UsageError

__all__ = ["PageSpan", "ParsedDocument", "SectionStart", "page_at", "pages_without_text", "told_pages"]

_LENGTH = struct.Struct(">Q")


class PageSpan(NamedTuple):
    """The text `[start, end)`, in code points, of the page with a number from 1; an empty page is an empty span."""

    start: int
    end: int
    number: int


class SectionStart(NamedTuple):
    """A section begins at a code point; `level` is 1 for a chapter, 2 for what lies in one, and so on."""

    start: int
    level: int


@dataclass(frozen=True, slots=True, repr=False)
class ParsedDocument:
    """The text of one document and what its format says about it.

    Attributes:
        text: as it is handed out; all offsets count its code points. It holds no lone surrogates.
        pages: in reading order, not overlapping; None for formats that have no pages.
        sections: in order of their starts; None for formats or documents without headings.
        remarks: facts for the document's `meta` (title, encoding ...): strings, numbers, booleans and None by name, or
            lists of them.
    """

    text: str
    pages: tuple[PageSpan, ...] | None = None
    sections: tuple[SectionStart, ...] | None = None
    remarks: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        previous = 0
        for start, end, number in self.pages or ():
            if not previous <= start <= end <= len(self.text) or number < 1:
                raise UsageError(f"`pages` must be ordered spans of a text of {len(self.text)} characters, but is not.")
            previous = end
        previous = 0
        for start, level in self.sections or ():
            if not previous <= start <= len(self.text) or level < 1:
                raise UsageError(f"`sections` must begin in order in {len(self.text)} characters, but do not.")
            previous = start
        for value in self.remarks.values():
            if not all(_is_plain(item) for item in (value if isinstance(value, list) else [value])):
                raise UsageError("`remarks` must be plain values or lists of them, but are not.")

    @property
    def meta(self) -> dict[str, Any]:
        """What the `meta` of the document says: the remarks, and `pages` and `sections` where there are any."""
        meta = dict(self.remarks)
        if self.pages is not None:
            meta["pages"] = [list(page) for page in self.pages]
        if self.sections is not None:
            meta["sections"] = [list(section) for section in self.sections]
        return meta

    def to_bytes(self) -> bytes:
        """A JSON head and the text in UTF-8, each with its length in bytes (8 bytes, the highest first) before it."""
        head = json.dumps(
            {"pages": self.pages, "sections": self.sections, "remarks": dict(self.remarks)}, allow_nan=False
        ).encode("ascii")
        text = self.text.encode("utf-8")
        return b"".join([_LENGTH.pack(len(head)), head, _LENGTH.pack(len(text)), text])

    @classmethod
    def from_bytes(cls, data: bytes) -> ParsedDocument:
        """The reverse of `to_bytes`, for bytes that nobody vouches for.

        Raises `ValueError` for bytes that `to_bytes` does not make, whatever they are.
        """
        try:
            head, rest = _piece(memoryview(data))
            text, rest = _piece(rest)
            if rest:
                raise ValueError
            fields = json.loads(str(head, "ascii"))
            return cls(
                str(text, "utf-8"),
                _rows(fields.pop("pages"), PageSpan),
                _rows(fields.pop("sections"), SectionStart),
                dict(fields.pop("remarks")),
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
            fault = f"{len(data)} bytes are no parsed document."
        raise ValueError(fault)

    def __repr__(self) -> str:
        return f"ParsedDocument(characters={len(self.text)})"


def page_at(meta: Mapping[str, Any], offset: int) -> int | None:
    """The number of the page that a code point of a document lies on, given its `meta`; None without pages.

    What separates two pages belongs to the earlier one. Empty pages hold nothing, so they are never the answer for a
    code point of the text.
    """
    pages = told_pages(meta)
    if not pages:
        return None
    index = bisect.bisect_right(pages, offset, key=lambda page: page.start) - 1
    return pages[max(index, 0)].number


def told_pages(meta: Mapping[str, Any]) -> tuple[PageSpan, ...]:
    """The pages of a document, given its `meta`; none where that says nothing, or uses the word for something else."""
    told = meta.get("pages")
    if not isinstance(told, (list, tuple)) or not all(
        isinstance(page, (list, tuple)) and len(page) == 3 for page in told
    ):
        return ()
    if not all(type(number) is int for page in told for number in page):
        return ()
    pages = tuple(PageSpan(*page) for page in told)
    ends = [0, *(page.end for page in pages)]
    fits = all(end <= page.start <= page.end and page.number > 0 for end, page in zip(ends, pages, strict=False))
    return pages if fits else ()


def pages_without_text(pages: Sequence[PageSpan], text: str) -> tuple[int, ...]:
    """Numbers of those pages of a text that have none, such as scans: nobody has read them."""
    return tuple(page.number for page in pages if not text[page.start : page.end].strip())


def _piece(data: memoryview) -> tuple[memoryview, memoryview]:
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size
    if length > len(data) - start:
        raise ValueError
    return data[start : start + length], data[start + length :]


def _rows(rows: Sequence[Sequence[int]] | None, kind: type[Any]) -> tuple[Any, ...] | None:
    if rows is None:
        return None
    if not all(type(number) is int for row in rows for number in row):
        raise TypeError
    return tuple(kind(*row) for row in rows)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    return value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))

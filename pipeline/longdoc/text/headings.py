"""Headings of plain text, told by how their lines look: Markdown, underlined, numbered, named, in capitals.

Only whole lines of at most 100 characters are headings, and no line that ends as a sentence does. Time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from longdoc.types import Span

__all__ = ["find_headings", "told_sections"]

LONGEST = 100
"""Characters of a heading."""

TITLE = 60
"""Characters of one that is told by its number or name: longer lines are mostly the first of a wrapped paragraph."""

_LINE = re.compile(r"[^\n\r\f\v\x85\u2028\u2029]*(?:\r\n|[\n\r\f\v\x85\u2028\u2029]|$)")
_MARKDOWN = re.compile(r"#{1,6}[ \t]+\S")
_UNDERLINE = re.compile(r"[=\-~*_]{3,}")
_NAMED = re.compile(
    r"(?:article|section|chapter|part|title|schedule|annex|appendix|exhibit|kapitel|abschnitt|teil|titel|anlage|anhang|"
    r"artikel|chapitre|titre|annexe|partie|capítulo|título|artículo|anexo|sección|parte|capo|titolo|sezione|articolo|"
    r"allegato|capitolo|artigo|secção|seção)[ \t]+(?:\d+|[ivxlc]+|[a-z])(?![^\W_])|§{1,2}[ \t]*\d|"
    r"第[〇一二三四五六七八九十百千\d]{1,8}[章节節編编部款]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){0,4}\.?|[IVXLC]{1,6}\.|[A-Z]\.)[ \t]+(?=[^\W\d_])")
_ENDS = frozenset(".;,!?…。！？；，、")


def told_sections(text: str, meta: Mapping[str, Any]) -> list[int] | None:
    """Where the sections of a formatted document begin; None where its `meta` says nothing, or something else."""
    told = meta.get("sections")
    if not isinstance(told, list) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in told):
        return None
    starts = [start for start, _ in told]
    fits = all(type(start) is int and 0 <= start <= len(text) for start in starts)
    return starts if starts and fits else None


def find_headings(text: str) -> list[Span]:
    """The headings of a text: from their first character to where the next line begins.

    A line is a heading that begins as Markdown has it (`## Facts`), or is underlined; after an empty line or at the
    start also one with a number or a name (`3.1 Scope`, `§ 5 Haftung`, `Article IV`); and one in capitals between lines
    that are not. One that ends in a full stop, a comma or their kin is none, unless it is Markdown.
    """
    found: list[Span] = []
    after_empty, before_capitals = True, False
    held: tuple[int, int] | None = None  # a line in capitals, which is a heading if the next line is not
    title: tuple[int, int] | None = None  # the line before, which is a heading if it is underlined
    for match in _LINE.finditer(text):
        begin, end = match.span()
        if begin == end:
            break  # the end of the text
        short = end - begin <= LONGEST + 2
        line = match[0].strip() if short else ""
        capitals = _in_capitals(line)
        if held is not None:
            if not capitals:
                found.append(Span(*held))
            held = None
        if title is not None and _UNDERLINE.fullmatch(line) and len(set(line)) == 1:
            found.append(Span(title[0], end))
        title = None
        if line:
            first = begin + match[0].index(line[0])
            if _MARKDOWN.match(line):
                found.append(Span(first, end))
            elif line[-1] not in _ENDS:
                if after_empty and len(line) <= TITLE and (_NAMED.match(line) or _is_title(line)):
                    found.append(Span(first, end))
                elif capitals and not before_capitals:
                    held = (first, end)
                elif after_empty and not _UNDERLINE.fullmatch(line):
                    title = (first, end)
            after_empty = False
        else:
            after_empty = short and not match[0].strip()
        before_capitals = capitals
    if held is not None:
        found.append(Span(*held))
    return found


def _in_capitals(line: str) -> bool:
    """Whether the letters of a line are capitals, four of them at least."""
    return line.isupper() and sum(map(str.isupper, line)) >= 4


def _is_title(line: str) -> bool:
    """Whether a line begins with a number, and what stands behind it with a capital."""
    number = _NUMBER.match(line)
    return number is not None and not line[number.end()].islower()

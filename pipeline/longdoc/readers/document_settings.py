"""What of a formatted document becomes its text: one small section of the configuration for each format.

A contract or a judgement must be complete, so by default everything that a reader of the page could see is kept.
"""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from longdoc.schema import Config

__all__ = ["DocxConfig", "EmailConfig", "HtmlConfig", "PdfConfig", "XmlConfig"]

_PATH = re.compile(r"(\*|[\w.-]+)(/(\*|[\w.-]+))*")


class DocxConfig(Config):
    """How Word documents are read."""

    headers: bool = True
    """Whether page headers stand before the text and page footers after it, each different one once."""
    notes: bool = True
    """Whether footnotes and endnotes stand after the text, in the order of their references."""
    list_numbers: bool = True
    """Whether the numbers and bullets that Word draws before paragraphs are part of the text."""


class HtmlConfig(Config):
    """How web pages are read."""

    hidden: bool = True
    """Whether elements count that say they are hidden (`hidden`, `aria-hidden`, `display:none` in their own style)."""
    list_numbers: bool = True
    """Whether the numbers that browsers draw before the items of `<ol>` lists are part of the text."""


class EmailConfig(Config):
    """How e-mails are read."""

    headers: bool = False
    """Whether subject, sender, recipients and date stand as lines before the text; they are in `meta` either way."""


class PdfConfig(Config):
    """How PDF files are read."""

    max_pages: int = Field(default=5000, ge=1)
    """A file of more pages fails as `too_large`."""
    join_hyphenated: bool = False
    """Whether words that a hyphen splits at a line end are put together; offsets refer to the text after that."""
    drop_running_lines: bool = False
    """Whether headers, footers and page numbers are left out: up to three lines at the top and at the bottom of a page
    that more than half of the pages, and at least three, have at the same place. Only one number in a line may differ,
    and only as page numbers do, by one from page to page. Lines are looked for from the edge inwards, up to the first
    that is none; where more than three are alike nothing is left out there, and a page never loses all its lines."""


class XmlConfig(Config):
    """How XML is read. JATS articles and Akoma Ntoso documents are known; this is for everything else.

    A path is names of elements from the outside in, such as `case/decision/p`, without prefixes of namespaces; it may
    begin at any depth, and `*` stands for any one name. Where one of these is set, nothing else is assumed.
    """

    text: tuple[str, ...] = ()
    """What holds the text, in the order of the document; empty: the whole document."""
    title: str | None = None
    """What holds the title, for `meta`; it is part of the text only where `text` says so."""
    sections: tuple[str, ...] = ()
    """What is a section; one inside another is a level deeper."""
    paragraphs: tuple[str, ...] = ()
    """What is a paragraph; empty: every element among elements without text between them is a line."""
    left_out: tuple[str, ...] = ()
    """What is left out of the text."""

    @field_validator("text", "title", "sections", "paragraphs", "left_out")
    @classmethod
    def _paths_are_names(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        for path in (value,) if isinstance(value, str) else value or ():
            if not _PATH.fullmatch(path):
                raise ValueError(
                    f"A path of `read.xml` must be names of elements with `/` between them, but is `{path}` instead. "
                    f"Example: case/decision/p."
                )
        return value

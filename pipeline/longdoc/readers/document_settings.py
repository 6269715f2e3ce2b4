"""What of a formatted document becomes its text: one small section of the configuration for each format.

A contract or a judgement must be complete, so by default everything that a reader of the page could see is kept.
"""

from __future__ import annotations

from longdoc.schema import Config

__all__ = ["DocxConfig", "EmailConfig", "HtmlConfig", "XmlConfig"]


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


class XmlConfig(Config):
    """How XML is read. JATS articles and Akoma Ntoso documents are known; these paths are for everything else.

    A path is names of elements from the outside in, such as `case/decision/p`, without prefixes of namespaces; it may
    begin at any depth. `*` stands for any one name.
    """

    text: tuple[str, ...] = ()
    """What holds the text; null paths: the whole document."""
    title: str | None = None
    """What holds the title, for `meta`; its text stays in the document where it stands in one of `text`."""
    sections: tuple[str, ...] = ()
    """What begins a section; one inside another is a level deeper."""
    paragraphs: tuple[str, ...] = ()
    """What is a block of its own; without any, every element that holds other elements or stands among them."""

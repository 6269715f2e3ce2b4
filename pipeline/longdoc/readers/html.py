"""Web pages: what a reader of the page sees, as text with sections.

Blocks such as `<p>` and `<div>` break lines and inline elements such as `<b>` do not; `<pre>` keeps its white space;
cells of a row are separated by tabs; `<h1>` to `<h6>` begin sections. Left out are the head (its title is in `meta`),
comments, and the elements of `DROPPED`, which browsers do not show as text. Nothing is taken for boilerplate:
what a page repeats around its text cannot be told from the text with certainty. Nothing is loaded, run or styled.
Parsed as the HTML standard has it, whatever is broken in the file (https://html.spec.whatwg.org/#parsing).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.blocks import LINE, PARAGRAPH, BlockText
from longdoc.readers.document_settings import HtmlConfig
from longdoc.readers.encoding import repair_surrogates
from longdoc.readers.extras import need
from longdoc.readers.formatted import FormattedReader
from longdoc.readers.html_encoding import decode_page
from longdoc.readers.list_counts import COUNTS
from longdoc.readers.parsed import ParsedDocument

__all__ = ["DROPPED", "HTML", "PageText", "parse"]

DROPPED = frozenset(
    [
        *("script", "style", "template", "noscript", "head", "title", "iframe", "frame", "noframes", "noembed"),
        *("annotation", "annotation-xml"),  # the source of a formula, beside the formula
    ]
)
"""Elements whose content is no text of the page."""

_PARAGRAPHS = (
    *("p", "blockquote", "pre", "ul", "ol", "dl", "menu", "dir", "section", "article", "aside", "header", "footer"),
    *("main", "nav", "figure", "hr", "form", "fieldset", "address", "details", "body", "center", "xmp", "plaintext"),
    *("listing", "hgroup", "search", "dialog"),
)
_LINES = (
    *("div", "li", "dt", "dd", "option", "optgroup", "legend", "caption", "summary", "figcaption", "select"),
    *("textarea", "frameset", "multicol"),
)
_STRENGTHS = {**dict.fromkeys(_PARAGRAPHS, PARAGRAPH), **dict.fromkeys(_LINES, LINE)}
_VERBATIM = ("pre", "textarea", "xmp", "plaintext", "listing")
_LISTS = ("ol", "ul", "menu", "dir")
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_WAYS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_HIDDEN_STYLE = re.compile(r"(^|;)\s*(display\s*:\s*none|visibility\s*:\s*(hidden|collapse))\b", re.IGNORECASE)
_OTHERS = (b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_NO_SCRIPT = re.compile(r"(</?)noscript\b", re.IGNORECASE)
_XHTML = re.compile(r"\s*<\?xml\b")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)/>")
_VOID = (
    *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link"),
    *("meta", "param", "source", "track", "wbr"),
)


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    """The text of a page; `settings` are those of `HtmlConfig` and the `encoding` that the user names, if any.

    Raises `DocumentError`: `decode_error` where no encoding fits, `unsupported_type` for what is no page at all.
    """
    options = dict(settings)
    if data.startswith(_OTHERS):
        raise DocumentError("unsupported_type", "This is no web page, whatever its name says.")
    markup, facts = decode_page(data, options.pop("encoding", None))
    page = PageText(HtmlConfig(**options))
    page.read(markup)
    return ParsedDocument(page.blocks.text, sections=page.blocks.sections, remarks=facts | page.remarks)


class PageText:
    """Collects the text of a page in `blocks`, and its title, language and the like in `remarks`."""

    def __init__(self, config: HtmlConfig) -> None:
        self.blocks = BlockText()
        self.remarks: dict[str, Any] = {}
        self._hidden, self._list_numbers = config.hidden, config.list_numbers
        self._verbatim = 0
        self._cells: list[int] = []  # of the open tables: cells begun in the row
        self._lists: list[tuple[str, int] | None] = []  # of the open lists: way to count, number of the next item
        self._label = ""

    def read(self, markup: str) -> None:
        """Read a whole page."""
        need("selectolax", "html")
        from selectolax.lexbor import LexborHTMLParser

        markup, repaired = repair_surrogates(markup)
        if repaired:
            self.remarks["repaired_surrogates"] = repaired
        if _XHTML.match(markup):
            markup = _as_html(markup)
        # A parser that runs no scripts looks for elements in <noscript>, and an open one there holds all that follows.
        node = LexborHTMLParser(_NO_SCRIPT.sub(r"\1noframes", markup)).root
        open_nodes: list[tuple[Any, str | None]] = []
        while node is not None:
            tag = node.tag
            if self._enter(node, tag):
                below = node.first_child
                if below is not None:
                    open_nodes.append((node, tag))
                    node = below
                    continue
                self._leave(tag)
            beside = node.next if open_nodes else None
            while beside is None and open_nodes:
                node, tag = open_nodes.pop()
                self._leave(tag)
                beside = node.next if open_nodes else None
            node = beside

    def _enter(self, node: Any, tag: str | None) -> bool:
        """Whether to go on to what the node holds."""
        if tag == "-text":
            text = node.text_content or ""
            if self._label and text and not text.isspace():
                self.blocks.flow(self._label)
                self._label = ""
            if self._verbatim:
                self.blocks.verbatim(text)
            else:
                self.blocks.flow(text)
            return False
        if tag in DROPPED:
            self._take_note(tag, node)
            return False
        if not tag or tag[0] == "-" or (not self._hidden and _is_hidden(node.attributes)):
            return False
        begin = _BEGINS.get(tag)
        if begin is not None:
            begin(self, tag, node)
        return True

    def _block(self, tag: str, node: Any) -> None:
        self.blocks.block(_STRENGTHS[tag])

    def _verbatim_block(self, tag: str, node: Any) -> None:
        self.blocks.block(_STRENGTHS[tag])
        self._verbatim += 1

    def _end_verbatim(self, tag: str) -> None:
        self.blocks.block(_STRENGTHS[tag])
        self._verbatim -= 1

    def _end_block(self, tag: str) -> None:
        self.blocks.block(_STRENGTHS[tag])

    def _line_break(self, tag: str, node: Any) -> None:
        self.blocks.line_break()

    def _heading(self, tag: str, node: Any) -> None:
        self.blocks.heading(_LEVELS[tag])

    def _end_heading(self, tag: str) -> None:
        self.blocks.end_heading()

    def _table(self, tag: str, node: Any) -> None:
        self.blocks.table()
        self._cells.append(0)

    def _end_table(self, tag: str) -> None:
        self._cells.pop()
        self.blocks.end_table()

    def _row(self, tag: str, node: Any) -> None:
        if self._cells:
            self.blocks.row()
            self._cells[-1] = 0

    def _cell(self, tag: str, node: Any) -> None:
        if self._cells:
            self.blocks.cell(first=self._cells[-1] == 0)
            self._cells[-1] += 1

    def _language(self, tag: str, node: Any) -> None:
        if node.attributes.get("lang"):
            self.remarks["lang"] = node.attributes["lang"]

    def _list(self, tag: str, node: Any) -> None:
        self._block(tag, node)
        if tag == "ol" and self._list_numbers:
            start = _number(node.attributes.get("start"))
            way = _WAYS.get(node.attributes.get("type") or "", "decimal")
            self._lists.append((way, 1 if start is None else start))
        else:
            self._lists.append(None)

    def _end_list(self, tag: str) -> None:
        self._lists.pop()
        self._end_block(tag)

    def _item(self, tag: str, node: Any) -> None:
        self._block(tag, node)
        counted = self._lists[-1] if self._lists else None
        if counted is not None:
            way, number = counted
            given = _number(node.attributes.get("value"))
            number = number if given is None else given
            self._label = f"{COUNTS[way](number)}. "
            self._lists[-1] = way, number + 1

    def _end_item(self, tag: str) -> None:
        self._label = ""
        self._end_block(tag)

    def _leave(self, tag: str | None) -> None:
        """The element, which was entered, ends."""
        end = _ENDS.get(tag or "")
        if end is not None and tag is not None:
            end(self, tag)

    def _take_note(self, tag: str, node: Any) -> None:
        if tag == "head":
            title = node.css_first("title")
            text = "" if title is None else " ".join(title.text(deep=True).split())
            if text:
                self.remarks["title"] = text
        elif tag in ("iframe", "frame"):
            self.remarks["frames_left_out"] = self.remarks.get("frames_left_out", 0) + 1


_BEGINS: dict[str, Callable[[PageText, str, Any], None]] = {
    **dict.fromkeys(_STRENGTHS, PageText._block),
    **dict.fromkeys(_VERBATIM, PageText._verbatim_block),
    **dict.fromkeys(_LEVELS, PageText._heading),
    **dict.fromkeys(_LISTS, PageText._list),
    "li": PageText._item,
    "br": PageText._line_break,
    "table": PageText._table,
    "tr": PageText._row,
    "td": PageText._cell,
    "th": PageText._cell,
    "html": PageText._language,
}
_ENDS: dict[str, Callable[[PageText, str], None]] = {
    **dict.fromkeys(_STRENGTHS, PageText._end_block),
    **dict.fromkeys(_VERBATIM, PageText._end_verbatim),
    **dict.fromkeys(_LEVELS, PageText._end_heading),
    **dict.fromkeys(_LISTS, PageText._end_list),
    "li": PageText._end_item,
    "table": PageText._end_table,
}


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
    )


def _number(value: str | None) -> int | None:
    try:
        return int((value or "")[:9])
    except ValueError:
        return None


def _as_html(markup: str) -> str:
    """XHTML as HTML: without the two spellings that mean something else, or nothing, to a parser of HTML."""

    def closed(element: re.Match[str]) -> str:
        name = element[1]
        return element[0] if name.lower() in _VOID else f"<{name}{element[2]}></{name}>"

    before, *sections = markup.split(_CDATA)
    pieces = [before]
    for section in sections:
        text, end, after = section.partition(_CDATA_END)
        pieces += (text.replace("&", "&amp;").replace("<", "&lt;"), after) if end else (_CDATA, section)
    return _SELF_CLOSED.sub(closed, "".join(pieces))


HTML = FormattedReader(
    "HTML",
    (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz", ".xhtml.gz"),
    parse,
    lambda settings: settings.html,
)
"""Reads web pages."""

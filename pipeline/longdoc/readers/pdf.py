"""PDF: the text of every page in the order in which the file has it, by PDFium. Runs in the sandbox.

Pages are separated by a form feed, as `pdftotext` does, so that the pages of a text can be counted in the text itself;
an empty page is an empty span and keeps its number. Within a page the order is that of PDFium: lines as they are drawn.
No picture is looked at: a scanned page without a text layer is an empty page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.document_settings import PdfConfig
from longdoc.readers.extras import need
from longdoc.readers.formatted import FormattedReader
from longdoc.readers.parsed import PageSpan, ParsedDocument
from longdoc.readers.running_lines import without_running_lines

__all__ = ["PDF", "parse"]

_BEGINNING = b"%PDF-"
_HEADER_PLACE = 1024
"""In so many bytes from the start a reader looks for the beginning (PDF 1.7, implementation note 13)."""
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[^\W\d_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_PASSWORD_NEEDED = 4  # FPDF_ERR_PASSWORD
_LONGEST_TITLE = 300


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    """The text of a PDF; `settings` are those of `PdfConfig`; an `encoding` has no meaning here.

    Raises `DocumentError`: `unreadable` for what is no PDF or damaged, `encrypted` for what needs a password,
    `too_large` for too many pages, `empty` where no page has a text layer.
    """
    need("pypdfium2", "pdf")
    config = PdfConfig(**{name: value for name, value in settings.items() if name != "encoding"})
    if _BEGINNING not in data[:_HEADER_PLACE]:
        raise DocumentError("unreadable", "The file is no PDF: it does not begin like one.")
    pages, remarks = _texts(data, config.max_pages)
    if not any(page.strip() for page in pages):
        found = f"None of the {len(pages)} pages has a text layer: they need"
        if len(pages) == 1:
            found = "The only page has no text layer: it needs"
        raise DocumentError("empty", f"{found} optical recognition.")
    if config.drop_running_lines:
        pages = without_running_lines(pages)
    if config.join_hyphenated:
        pages = [_LINE_END_HYPHEN.sub("", page) for page in pages]
    spans = []
    start = 0
    for number, page in enumerate(pages, 1):
        spans.append(PageSpan(start, start + len(page), number))
        start += len(page) + 1
    empty = sum(not page.strip() for page in pages)
    if empty:
        remarks["pages_without_text"] = empty
    return ParsedDocument("\f".join(pages), tuple(spans), remarks=remarks)


def _texts(data: bytes, most: int) -> tuple[list[str], dict[str, Any]]:
    import pypdfium2

    try:
        file = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        encrypted = error.err_code == _PASSWORD_NEEDED
        fault = "needs a password" if encrypted else "is damaged or cut off"
        raise DocumentError("encrypted" if encrypted else "unreadable", f"The PDF file {fault}.") from None
    count = len(file)
    if count > most:
        raise DocumentError("too_large", f"The file has {count} pages. Raise `read.pdf.max_pages` ({most}) to read it.")
    title = file.get_metadata_value("Title")[:_LONGEST_TITLE]
    remarks = {"title": title.encode("utf-8", "replace").decode("utf-8")} if title else {}
    return [_text(pypdfium2, file, number) for number in range(count)], remarks


def _text(library: Any, file: Any, number: int) -> str:
    try:
        page = file[number]
    except library.PdfiumError:
        raise DocumentError("unreadable", f"Page {number + 1} of {len(file)} is damaged.") from None
    text_page = page.get_textpage()
    text = text_page.get_text_range().replace("\r\n", "\n").replace("\r", "\n")
    text_page.close()
    page.close()
    text = text.replace("\ufffe", "-\n")  # a hyphen at a line end, which PDFium marks and takes the line end away
    return _CONTROLS.sub(" ", text)


PDF = FormattedReader("PDF", (".pdf",), parse, lambda settings: settings.pdf)
"""Reads PDF files."""

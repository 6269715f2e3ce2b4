"""Plain text and Markdown: one document a file, the text exactly as decoded."""

from __future__ import annotations

import os
from collections.abc import Iterator

from longdoc.errors import DocumentError
from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.encoding import UTF8, decode_document, decode_long_utf8, repair_surrogates
from longdoc.readers.opening import FileReader, is_compressed, open_source
from longdoc.readers.whole_file import read_whole
from longdoc.types import Document, Place, Record

__all__ = ["LONG_BYTES", "TextReader"]

LONG_BYTES = 1 << 24
"""A file of at least so many bytes is decoded while it is read."""

_PDF = b"%PDF-"


class TextReader(FileReader):
    """One document a file; its id is the path relative to the input root. The only cursor is 0."""

    name = "text"
    suffixes: tuple[str, ...] = (".txt", ".md", ".txt.gz", ".md.gz")

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        if cursor:
            return
        try:
            yield Record(self._document(source, settings), Place(source.name), 0)
        except Exception as error:
            yield failed(source, 0, 0, error)

    def _document(self, source: Source, settings: ReadConfig) -> Document:
        long = self._long_document(source, settings)
        if long is not None:
            return long
        data = read_whole(source, settings.max_bytes)
        if data.startswith(_PDF):
            raise DocumentError("unsupported_type", "The file is a PDF by its content. Name it `.pdf`.")
        text, encoding = decode_document(data, settings.encoding)
        text, repaired = repair_surrogates(text)
        meta = encoding.facts
        if repaired:
            meta["repaired_surrogates"] = repaired
        return Document(id=source.name, text=text, meta=meta)

    def _long_document(self, source: Source, settings: ReadConfig) -> Document | None:
        """The same without its bytes in memory, for a long text that is plainly UTF-8; None for all others."""
        if is_compressed(source):
            return None
        with open_source(source) as stream:
            size = os.fstat(stream.fileno()).st_size
            if not LONG_BYTES <= size <= settings.max_bytes or stream.peek(len(_PDF)).startswith(_PDF):
                return None
            text = decode_long_utf8(stream, settings.encoding)
        return None if text is None else Document(id=source.name, text=text, meta=UTF8.facts)

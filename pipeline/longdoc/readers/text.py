"""Plain text and Markdown: one document a file, the text exactly as decoded."""

from __future__ import annotations

from collections.abc import Iterator

from longdoc.errors import DocumentError
from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.encoding import decode_document, repair_surrogates
from longdoc.readers.opening import FileReader
from longdoc.readers.whole_file import read_whole
from longdoc.types import Document, Place, Record

__all__ = ["TextReader"]


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
        data = read_whole(source, settings.max_bytes)
        if data.startswith(b"%PDF-"):
            raise DocumentError("unsupported_type", "The file is a PDF by its content. Name it `.pdf`.")
        text, encoding = decode_document(data, settings.encoding)
        text, repaired = repair_surrogates(text)
        meta = encoding.facts
        if repaired:
            meta["repaired_surrogates"] = repaired
        return Document(id=source.name, text=text, meta=meta)

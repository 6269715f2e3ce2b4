"""Plain text and Markdown: one document a file, the text exactly as decoded."""

from __future__ import annotations

import os
from collections.abc import Iterator

from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.encoding import decode_document, repair_surrogates
from longdoc.readers.fields import too_large
from longdoc.readers.opening import FileReader, is_compressed, open_source
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
        limit = settings.max_bytes
        with open_source(source) as stream:
            if not is_compressed(source) and os.fstat(stream.fileno()).st_size > limit:
                raise too_large(limit)
            pieces, size = [], 0
            while piece := stream.read1(1 << 20):  # asking for the limit at once would reserve that much memory
                pieces.append(piece)
                size += len(piece)
                if size > limit:
                    raise too_large(limit)
        data = b"".join(pieces)
        text, encoding = decode_document(data, settings.encoding)
        text, repaired = repair_surrogates(text)
        meta = encoding.facts
        if repaired:
            meta["repaired_surrogates"] = repaired
        return Document(id=source.name, text=text, meta=meta)

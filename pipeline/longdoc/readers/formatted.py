"""Readers of formatted documents: one document a file, whose text a parser of the format finds.

What a format adds to its text (title, encoding, what was left out) is in `meta`, and where its sections begin in
`meta["sections"]`, as pairs of a code point and a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from longdoc.errors import DataError, DocumentError
from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.fields import too_large
from longdoc.readers.opening import FileReader
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.sandbox import parse_in_sandbox
from longdoc.readers.whole_file import read_whole
from longdoc.schema import Config
from longdoc.types import Document, Place, Record

__all__ = ["FormattedReader"]

Parser = Callable[[bytes, Mapping[str, Any]], ParsedDocument]


class FormattedReader(FileReader):
    """One document a file; its id is the path relative to the input root. The only cursor is 0.

    Args:
        name: of the format, for people.
        suffixes: endings of file names, in lower case.
        parse: finds the text of a file, given its bytes and the options as JSON has them. It is the function `parse`
            of its module, and is called in another process (`longdoc.readers.sandbox`).
        options: the section of the configuration that `parse` takes; `read.encoding` is added to it.
    """

    def __init__(
        self, name: str, suffixes: tuple[str, ...], parse: Parser, options: Callable[[ReadConfig], Config]
    ) -> None:
        self.name = name
        self.suffixes = suffixes
        self._parse = parse
        self._options = options

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        if cursor:
            return
        try:
            yield Record(self._document(source, settings), Place(source.name), 0)
        except DataError:  # no process can be started: the machine's fault, not the document's
            raise
        except Exception as error:
            yield failed(source, 0, 0, error)

    def _document(self, source: Source, settings: ReadConfig) -> Document:
        limit = settings.max_bytes
        options = {**self._options(settings).model_dump(mode="json"), "encoding": settings.encoding}
        data = read_whole(source, limit)
        if not data:  # a copy or a download that never came: no parser could say it better
            raise DocumentError("empty", "The file is empty.")
        parsed = parse_in_sandbox(self._parse.__module__, data, options, settings.sandbox)
        if 4 * len(parsed.text) > limit and len(parsed.text.encode("utf-8")) > limit:
            raise too_large(limit)
        return Document(id=source.name, text=parsed.text, meta=parsed.meta)

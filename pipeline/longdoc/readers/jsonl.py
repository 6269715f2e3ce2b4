"""JSON Lines: one object a line, UTF-8 by its standard; a byte-order mark or `encoding` says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.base import ReadConfig, Source, ended, failed
from longdoc.readers.fields import RecordFields
from longdoc.readers.lines import Line, LineFile, line_at
from longdoc.readers.opening import FileReader
from longdoc.readers.strict_json import parse_json
from longdoc.types import Record

__all__ = ["JsonLinesReader"]


class JsonLinesReader(FileReader):
    """One record a line; blank lines are skipped but counted. A cursor enters a plain file at its byte offset."""

    name = "JSON Lines"
    suffixes: tuple[str, ...] = (".jsonl", ".jsonl.gz", ".jsonl.zst")
    has_rows = True

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        here = cursor
        try:
            file = LineFile.probe(source, settings, guess=False)
            fields = RecordFields(source, settings, file.encoding.facts)
            for line in file.lines(cursor):
                here = line.after
                if line.fault is None and (not line.text or line.text.isspace()):
                    continue
                try:
                    values = _values(line)
                except Exception as error:
                    yield failed(source, line.number, line.cursor, error)
                else:
                    yield fields.record(values, line.number, line.cursor)
        except Exception as error:
            yield ended(source, line_at(here), here, error)


def _values(line: Line) -> dict[str, Any]:
    if line.fault is not None:
        raise line.fault
    values = parse_json(line.text)
    if not isinstance(values, dict):
        raise DocumentError("unreadable", "The line must hold an object, but holds another value instead.")
    return values

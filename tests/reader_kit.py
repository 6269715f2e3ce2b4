"""What the tests of the readers share: reading a path, and telling documents from failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import settings

from longdoc.readers import FieldMap, ReadConfig, find_sources, read_source
from longdoc.types import Document, DocumentFailure, Record

QUICK = settings(deadline=None, max_examples=60)
"""For property tests of small inputs."""


def settings_of(**given: Any) -> ReadConfig:
    """`ReadConfig` with `fields` given as a plain dictionary."""
    fields = given.pop("fields", {})
    return ReadConfig(fields=FieldMap(**fields), **given)


def records_of(path: Path, cursor: int = 0, **given: Any) -> list[Record]:
    """All records of one file."""
    config = settings_of(**given)
    (source,) = find_sources([path], config)
    return list(read_source(source, config, cursor))


def documents_of(records: list[Record]) -> list[Document]:
    return [record.document for record in records if isinstance(record.document, Document)]


def failures_of(records: list[Record]) -> list[DocumentFailure]:
    return [record.document for record in records if isinstance(record.document, DocumentFailure)]


def failed_lines(records: list[Record]) -> list[int]:
    return [record.place.line for record in records if isinstance(record.document, DocumentFailure)]


def write(path: Path, content: bytes | str) -> Path:
    """The path, after writing; strings as UTF-8 without any translation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path

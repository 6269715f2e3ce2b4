"""What every reader shares: where documents come from, how records name their fields, and how faults become rows."""

from __future__ import annotations

import codecs
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field, field_validator, model_validator

from longdoc.errors import DocumentError, FailureReason
from longdoc.readers.document_settings import DocxConfig, EmailConfig, HtmlConfig, PdfConfig, XmlConfig
from longdoc.readers.sandbox import SandboxConfig
from longdoc.schema import Config
from longdoc.types import DocumentFailure, Place, Record, short_digest

__all__ = ["FieldMap", "ReadConfig", "Reader", "Source", "ended", "failed", "record_limit"]


class FieldMap(Config):
    """Which column of the data holds what. Null means: never look for it."""

    id: str | None = "id"
    """Unique name of a document; strings, or numbers that become strings. Without one the place is the id."""
    text: str = "text"
    """The document itself."""
    label: str | None = "label"
    """The one right label: a string or an integer."""
    labels: str | None = "labels"
    """All right labels: a list of strings (in CSV a JSON list inside the cell)."""
    target: str | None = "target"
    """The right number."""
    spans: str | None = "spans"
    """A list of `{"start", "end", "label"}` (in CSV as JSON inside the cell)."""
    question: str | None = "question"
    """What is asked of the document."""
    answers: str | None = "answers"
    """The right answers, read where there is a question: a list of `{"start", "end"}`, or as in SQuAD `{"text": [...],
    "answer_start": [...]}`; an empty list = the document has none (in CSV as JSON inside the cell)."""
    language: str | None = "language"
    """A language code."""
    file: str | None = None
    """Where labels stand in a table beside the files they are about: its column with the names of the files."""

    @property
    def advice(self) -> str:
        """Which setting names the column that stands where the text does."""
        if self.file == self.text:
            return "Name the column that holds the names of the files in `read.fields.file`."
        return "Name the column that holds the documents in `read.fields.text`."

    @model_validator(mode="after")
    def _one_column_one_meaning(self) -> FieldMap:
        seen: dict[str, str] = {}
        for meaning, column in self:
            if column is None or (meaning == "file" and column == self.id):  # the name of a file is its id
                continue
            if column in seen:
                raise ValueError(
                    f"`read.fields.{seen[column]}` and `read.fields.{meaning}` both name the column `{column}`. "
                    f"Set the one that is not meant to null."
                )
            seen[column] = meaning
        return self


class ReadConfig(Config):
    """How inputs are read."""

    fields: FieldMap = FieldMap()
    """Names of the columns."""
    encoding: str | None = None
    """Encoding of texts that are neither valid UTF-8 nor marked by a byte-order mark; null: guessed when certain."""
    delimiter: str | None = None
    """What separates the cells of a CSV file; null: found out among comma, semicolon, tab and bar."""
    max_bytes: int = Field(default=1 << 30, ge=1)
    """Largest text of one document, in bytes; a larger one fails as `too_large`."""
    docx: DocxConfig = DocxConfig()
    """Word documents."""
    html: HtmlConfig = HtmlConfig()
    """Web pages."""
    eml: EmailConfig = EmailConfig()
    """E-mails."""
    xml: XmlConfig = XmlConfig()
    """XML."""
    pdf: PdfConfig = PdfConfig()
    """PDF."""
    sandbox: SandboxConfig = SandboxConfig()
    """What the process in which Word, HTML, e-mail, XML and PDF are parsed may use for one document."""
    files_without_label: Literal["refuse", "leave_out"] = "refuse"
    """With `fields.file`: files that no row of a table names."""
    labels_without_file: Literal["refuse", "leave_out"] = "refuse"
    """With `fields.file`: rows that name no file of the inputs."""
    split: str | None = None
    """Which split of a `datasets` folder or a dataset of the hub is read; needed when there are several."""

    @field_validator("encoding")
    @classmethod
    def _encoding_exists(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                "".encode(value)  # refuses unknown names, and codecs such as `hex` or `zlib` that are no text encoding
            except LookupError:
                raise ValueError(
                    f"`encoding` must be a text encoding that Python knows, but is `{value}` instead. "
                    f"Examples: cp1252, gb18030, utf-16-le."
                ) from None
            return codecs.lookup(value).name
        return value

    @field_validator("delimiter")
    @classmethod
    def _delimiter_is_one_character(cls, value: str | None) -> str | None:
        if value is not None and (len(value) != 1 or value in '"\r\n\0 '):
            raise ValueError("`delimiter` must be one character other than a quote, a space or a line end, but is not.")
        return value


@dataclass(frozen=True, slots=True)
class Source:
    """One file (or `datasets` folder, or hub id) that holds documents.

    Attributes:
        path: where it is; `hf:owner/name` for a dataset of the hub, whose root is the empty path.
        root: the folder that it must not lead out of.
        name: path relative to the input root, with forward slashes. Ids of one-file documents and places use it.
    """

    path: Path
    root: Path
    name: str

    def __repr__(self) -> str:
        return f"Source(name=#{short_digest(self.name)})"  # a path may name a person


class Reader(Protocol):
    """One format. Its file is the only place that knows it.

    Attributes:
        name: for people.
        suffixes: endings of the file names that it reads, in lower case, with the dot.
        has_rows: whether a file holds many documents, one a row or line; otherwise it is one.
    """

    name: str
    suffixes: tuple[str, ...]
    has_rows: bool

    def opens(self, path: Path) -> bool:
        """Whether this reader is the one for `path`."""
        ...

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        """All records of `source` from the one at `cursor` on, in order, in constant memory.

        A cursor is an integer of any size (more than 64 bits in some formats) that only this reader understands.

        Bad content becomes a failure in its place, under the record's own id where that can be read; where nothing
        after it can be read it is the last record and `ends_early`. Raises `DataError` only for what makes the source
        as a whole unusable as configured, such as a missing text column.
        """
        ...

    def digest(self, source: Source) -> str:
        """SHA-256 (hexadecimal) of everything that decides which records `read` yields."""
        ...


def record_limit(settings: ReadConfig) -> int:
    """Bytes that one line or row may take in a file: its text, some escapes, and its other fields."""
    return 2 * settings.max_bytes + (1 << 20)


_REASONS: tuple[tuple[type[BaseException], FailureReason], ...] = (
    (MemoryError, "memory_limit"),
    (UnicodeError, "decode_error"),
)


def failed(
    source: Source, line: int, cursor: int, error: Exception, identity: str | None = None, what: str = "cannot be read"
) -> Record:
    """The record that stands where reading failed.

    `line` is the 1-based line or row, 0 where the whole file is one document. `identity` is the record's own id, where
    it is known; the place, which is the id of all others, stands in the detail then. Of a foreign `error` only the
    class name is kept, since its message may hold the text.
    """
    place = Place(source.name, line)
    name = identity or str(place)
    if isinstance(error, DocumentError):
        detail = f"{place}: {error}" if identity else str(error)
        failure = DocumentFailure(name, error.reason, error.stage, detail=detail)
    else:
        reason: FailureReason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "unreadable")
        fault = type(error).__name__
        failure = DocumentFailure(name, reason, error=fault, detail=f"{place} {what} ({fault}).")
    return Record(failure, place, cursor)


def ended(source: Source, line: int, cursor: int, error: Exception) -> Record:
    """The last record of a source of many documents that cannot be read further: damaged, cut off, taken away.

    A source that was refused before it was opened, since it lies outside the inputs, is one failure and nothing else.
    """
    record = failed(source, line, cursor, error, what="cannot be read further")
    refused = isinstance(error, DocumentError) and error.reason == "path_escape"
    return dataclasses.replace(record, ends_early=not refused)

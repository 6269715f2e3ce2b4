"""From the fields of one record, whatever format it came in, to a `Document`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from longdoc.errors import DocumentError
from longdoc.readers import gold
from longdoc.readers.base import ReadConfig, Source, failed
from longdoc.readers.encoding import repair_surrogates
from longdoc.readers.meta import carry
from longdoc.types import Document, Place, Record

__all__ = ["RecordFields", "no_field", "too_large"]

T = TypeVar("T")


class RecordFields:
    """Turns the fields of one source's records into documents.

    A field whose value could not even be taken from the file may hold the `DocumentError` that says why.

    Args:
        source: where the records are.
        settings: which column holds what, and how large a text may be.
        facts: what the `meta` of every document of the source says, such as its encoding.
    """

    def __init__(self, source: Source, settings: ReadConfig, facts: Mapping[str, Any]) -> None:
        columns = settings.fields
        self._source = source
        self._id = columns.id
        self._text = columns.text
        self._setting = "read.fields.file" if columns.text == columns.file else "read.fields.text"
        self._label = columns.label
        self._labels = columns.labels
        self._target = columns.target
        self._spans = columns.spans
        self._question = columns.question
        self._answers = columns.answers
        self._language = columns.language
        self._mapped = frozenset(column for _, column in columns if column is not None)
        self._limit = settings.max_bytes
        self._facts = dict(facts)

    def record(self, values: Mapping[str, Any], line: int, cursor: int) -> Record:
        """The record on line or row `line` (from 1): a document, or a failure under the record's own id.

        A label, labels, number or spans that cannot be used are left out, and `gold_fault` says why.
        """
        identity = None
        try:
            identity = gold.identifier(_usable(values.get(self._id)), f"{self._id}") if self._id is not None else None
            place = Place(self._source.name, line)
            document, fault = self._document(values, identity or str(place))
        except Exception as error:
            return failed(self._source, line, cursor, error, identity)
        return Record(document, place, cursor, fault)

    def _document(self, values: Mapping[str, Any], identity: str) -> tuple[Document, str]:
        text, repaired = self._text_of(values)
        given: dict[str | None, Any] = {
            name: value for name, value in values.items() if value is not None and name in self._mapped
        }
        meta = carry(values, self._mapped) if len(values) > len(given) else {}
        meta.update(self._facts)
        if repaired:
            meta["repaired_surrogates"] = repaired
        language = given.get(self._language)
        faults: list[str] = []

        def right(read: Callable[..., T | None], column: str | None, *more: int | str) -> T | None:
            value = given.get(column)
            if value is None:
                return None
            try:
                return read(_usable(value), f"{column}", *more)
            except DocumentError as error:
                faults.append(str(error))
                return None

        question = right(gold.string, self._question)
        document = Document(
            id=identity,
            text=text,
            label=right(gold.string, self._label),
            labels=right(gold.strings, self._labels),
            target=right(gold.number, self._target),
            spans=right(gold.spans, self._spans, len(text)),
            language=gold.string(language, f"{self._language}") if isinstance(language, str) else None,
            meta=meta,
            question=question,
            answers=None if question is None else right(gold.answers, self._answers, text),
        )
        return document, " ".join(faults)

    def _text_of(self, values: Mapping[str, Any]) -> tuple[str, int]:
        name = self._text
        if name not in values:
            raise DocumentError("unreadable", f"{no_field(name)} Name the right one in `{self._setting}`.")
        text = _usable(values[name])
        if not isinstance(text, str):
            raise DocumentError("unreadable", f"`{name}` must be a string, but is {gold.kind_of(text)} instead.")
        if 4 * len(text) > self._limit and len(text.encode("utf-8", "surrogatepass")) > self._limit:
            raise too_large(self._limit)
        return repair_surrogates(text)


def _usable(value: Any) -> Any:
    if isinstance(value, DocumentError):
        raise value
    return value


def no_field(name: str) -> str:
    """What is said of a record without the field of the text."""
    return f"The record has no field `{name}`."


def too_large(limit: int) -> DocumentError:
    """The failure of a text of more than `limit` bytes."""
    return DocumentError("too_large", f"The text has more than {limit} bytes. Raise `read.max_bytes` to read it.")

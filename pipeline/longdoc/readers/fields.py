"""From the fields of one record, whatever format it came in, to a `Document`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers import gold
from longdoc.readers.base import ReadConfig
from longdoc.readers.encoding import repair_surrogates
from longdoc.readers.meta import carry
from longdoc.types import Document

__all__ = ["RecordFields", "too_large"]


class RecordFields:
    """Turns records of one source into documents.

    Args:
        settings: which column holds what, and how large a text may be.
        facts: what the `meta` of every document of the source says, such as its encoding.
    """

    def __init__(self, settings: ReadConfig, facts: Mapping[str, Any]) -> None:
        columns = settings.fields
        self._id = columns.id
        self._text = columns.text
        self._label = columns.label
        self._labels = columns.labels
        self._target = columns.target
        self._spans = columns.spans
        self._language = columns.language
        self._mapped = frozenset(column for _, column in columns if column is not None)
        self._limit = settings.max_bytes
        self._facts = dict(facts)

    def document(self, values: Mapping[str, Any], place: str) -> Document:
        """The document of one record; `place` names it if it has no id. Raises `DocumentError`."""
        text, repaired = self._text_of(values)
        given: dict[str | None, Any] = {
            name: value for name, value in values.items() if value is not None and name in self._mapped
        }
        meta = carry(values, self._mapped) if len(values) > len(given) else {}
        meta.update(self._facts)
        if repaired:
            meta["repaired_surrogates"] = repaired
        language = given.get(self._language)
        return Document(
            id=gold.identifier(given.get(self._id), f"{self._id}") or place,
            text=text,
            label=gold.string(given.get(self._label), f"{self._label}"),
            labels=gold.strings(given.get(self._labels), f"{self._labels}"),
            target=gold.number(given.get(self._target), f"{self._target}"),
            spans=gold.spans(given.get(self._spans), f"{self._spans}", len(text)),
            language=gold.string(language, f"{self._language}") if isinstance(language, str) else None,
            meta=meta,
        )

    def _text_of(self, values: Mapping[str, Any]) -> tuple[str, int]:
        name = self._text
        if name not in values:
            raise DocumentError("unreadable", f"The record has no field `{name}`. Name the right one in `fields.text`.")
        text = values[name]
        if not isinstance(text, str):
            raise DocumentError("unreadable", f"`{name}` must be a string, but is {gold.kind_of(text)} instead.")
        if 4 * len(text) > self._limit and len(text.encode("utf-8", "surrogatepass")) > self._limit:
            raise too_large(self._limit)
        return repair_surrogates(text)


def too_large(limit: int) -> DocumentError:
    """The failure of a text of more than `limit` bytes."""
    return DocumentError("too_large", f"The text has more than {limit} bytes. Raise `max_bytes` to read it.")

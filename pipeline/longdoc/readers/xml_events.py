"""XML of strangers as a stream of events: no tree in memory, no document type, no entities, no network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from longdoc.errors import DocumentError

__all__ = ["EventTarget", "read_events", "refuse_doctype"]


class EventTarget(Protocol):
    """What is told of a document, element by element. Tags are `{namespace}name`."""

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def data(self, text: str) -> None: ...


class _Guard:
    """Hands events on, and refuses document type declarations."""

    def __init__(self, target: EventTarget) -> None:
        self.start, self.end, self.data = target.start, target.end, target.data

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise refuse_doctype()

    def close(self) -> None:
        """Called by lxml at the end, also after a fault."""


def read_events(pieces: Iterable[bytes], target: EventTarget) -> None:
    """Tell `target` what the document in `pieces` holds.

    Raises `DocumentError`: `xml_forbidden` for a document type declaration, `unreadable` for what is not well-formed.
    """
    from lxml import etree

    parser = etree.XMLParser(
        target=_Guard(target), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    line = 0
    try:
        for piece in pieces:
            parser.feed(piece)
        parser.close()
        return
    except etree.XMLSyntaxError as error:  # its message may hold the text
        line = error.lineno or 0
    raise DocumentError("unreadable", f"The XML of the document is not well-formed, in line {line}.")


def refuse_doctype() -> DocumentError:
    """The failure of a document with a document type declaration where the format has none."""
    return DocumentError("xml_forbidden", "The XML declares a document type, which this format does not allow.")

"""Word documents (.docx, also Strict Open XML): what a reader sees with all changes accepted, as text with sections.

The order is: page headers, body, footnotes, endnotes, page footers. Headings begin sections, an empty line lies
between paragraphs, cells of a row are separated by tabs. Comments and pictures are left out, text boxes stand where
they are anchored. Nothing is opened over a network, and macros are not even looked at. Format: ECMA-376 part 1.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from longdoc.errors import DocumentError
from longdoc.readers.blocks import BlockText
from longdoc.readers.document_settings import DocxConfig
from longdoc.readers.docx_body import WordText
from longdoc.readers.docx_names import short_name
from longdoc.readers.docx_numbering import Numbering, NumberingPart
from longdoc.readers.docx_styles import StylesPart
from longdoc.readers.extras import need
from longdoc.readers.formatted import FormattedReader
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.xml_events import read_events
from longdoc.readers.zip_parts import ZipParts

__all__ = ["WORD", "parse"]

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_PARTS = {"footnotes": "w:footnote", "endnotes": "w:endnote"}


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    """The text of a Word document; `settings` are those of `DocxConfig`; an `encoding` has no meaning here.

    Raises `DocumentError`: `unsupported_type` for what is no Open XML document, the older binary format included,
    `encrypted`, `zip_bomb`, `xml_forbidden`, or `unreadable` for what is damaged.
    """
    need("lxml", "docx")
    config = DocxConfig(**{name: value for name, value in settings.items() if name != "encoding"})
    _refuse_others(data)
    package = _Package(ZipParts(data))
    main = package.main()
    related = package.related(main)

    styles, numbering = StylesPart(), NumberingPart()
    for relation in related.of_kind("styles"):
        package.read(relation.target, styles)
    for relation in related.of_kind("numbering"):
        package.read(relation.target, numbering)

    def text_of(part: str) -> WordText:
        found = WordText(styles, Numbering(numbering) if config.list_numbers else None)
        package.read(part, found)
        return found

    body = text_of(main)
    if body.root != "w:document":
        raise DocumentError("unsupported_type", "The ZIP file holds no Word document. Save the document as .docx.")
    whole = BlockText()
    frames: dict[str, list[BlockText]] = {"w:header": [], "w:footer": []}
    if config.headers:
        shown = set()
        for kind, identity in body.frame_references:
            target = related.target(identity)
            if target is not None:
                frame = text_of(target).blocks
                if (kind, frame.text) not in shown:  # the same header, told once more for another section
                    shown.add((kind, frame.text))
                    frames[kind].append(frame)
    notes = _notes(body, related, text_of) if config.notes else []
    for blocks in (*frames["w:header"], body.blocks, *notes, *frames["w:footer"]):
        whole.join(blocks)
    remarks: dict[str, Any] = {name: count for name, count in body.counts.items() if count}
    title = package.title()
    if title:
        remarks["title"] = title
    return ParsedDocument(whole.text, sections=whole.sections, remarks=remarks)


def _refuse_others(data: bytes) -> None:
    if data.startswith(_OLE):
        if _ENCRYPTED_STREAM in data:
            raise DocumentError("encrypted", "The document is protected with a password. Save it without one.")
        raise DocumentError(
            "unsupported_type", "This is a document of Word 97 to 2003 (.doc). Open it in Word and save it as .docx."
        )
    if not data.startswith(_ZIP):
        raise DocumentError("unsupported_type", "This is no Word document (.docx), whatever its name says.")


def _notes(body: WordText, related: _Relations, text_of: Any) -> Iterator[BlockText]:
    """The notes that the body refers to, each once: first all footnotes, then all endnotes."""
    for kind, element in _PARTS.items():
        wanted = dict.fromkeys(identity for name, identity in body.note_references if name == element)
        for relation in related.of_kind(kind):
            found = text_of(relation.target).notes if wanted else {}
            yield from (found[identity] for identity in wanted if identity in found)


@dataclass
class _Relation:
    kind: str
    target: str


class _Relations:
    """The parts that a part refers to: takes the events of its part of relationships (ECMA-376 part 2)."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._relations: dict[str, _Relation] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if short_name(tag) == "rel:Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            target = posixpath.normpath(posixpath.join(self._folder, unquote(attributes.get("Target", ""))))
            self._relations[attributes.get("Id", "")] = _Relation(kind, target.lstrip("/"))

    def end(self, tag: str) -> None:
        """Nothing ends that would have to be known."""

    def data(self, text: str) -> None:
        """Relationships have no text."""

    def of_kind(self, kind: str) -> list[_Relation]:
        return [relation for relation in self._relations.values() if relation.kind == kind]

    def target(self, identity: str) -> str | None:
        relation = self._relations.get(identity)
        return None if relation is None else relation.target


class _Title:
    """Takes the events of the part of core properties."""

    def __init__(self) -> None:
        self.text = ""
        self._open = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._open = short_name(tag) == "dc:title"

    def end(self, tag: str) -> None:
        self._open = False

    def data(self, text: str) -> None:
        if self._open:
            self.text += text


class _Package:
    """The parts of the document by name; a part that is referred to but absent is empty."""

    def __init__(self, parts: ZipParts) -> None:
        self._parts = parts
        self._root = self._relations("_rels/.rels", "")

    def main(self) -> str:
        """The part that holds the body; empty for a ZIP file without one."""
        names = [relation.target for relation in self._root.of_kind("officeDocument")]
        names.append("word/document.xml")  # where Word puts it
        return next((name for name in names if name in self._parts), "")

    def related(self, part: str) -> _Relations:
        folder, name = posixpath.split(part)
        return self._relations(f"{folder}/_rels/{name}.rels".lstrip("/"), folder)

    def read(self, part: str, target: Any) -> None:
        if part in self._parts:
            read_events(self._parts.pieces(part), target)

    def title(self) -> str:
        found = _Title()
        for relation in self._root.of_kind("core-properties"):
            self.read(relation.target, found)
        return " ".join(found.text.split())

    def _relations(self, part: str, folder: str) -> _Relations:
        found = _Relations(folder)
        self.read(part, found)
        return found


WORD = FormattedReader("Word", (".docx", ".docm", ".doc"), parse, lambda settings: settings.docx)
"""Reads Word documents. Those of Word 97 to 2003 are refused with the way out, unless only their name is old."""

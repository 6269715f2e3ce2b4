"""XML documents as text with sections: journal articles (JATS), laws and judgements (Akoma Ntoso), and any other kind.

White space is one space, as in a page; blocks, sections, tables are what the vocabulary says. Of kinds that are not
known every element among elements is a line, unless `read.xml` says more. Nothing is loaded: no document type, no
entity of another file, no stylesheet; entities of the document itself are expanded within a bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from longdoc.errors import DocumentError
from longdoc.readers.blocks import LINE, PARAGRAPH, BlockText
from longdoc.readers.document_settings import XmlConfig
from longdoc.readers.encoding import repair_surrogates
from longdoc.readers.extras import need
from longdoc.readers.formatted import FormattedReader
from longdoc.readers.html_encoding import decode_page
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.xml_entities import Entities, endless_entities
from longdoc.readers.xml_vocabularies import Vocabulary, vocabulary_of

__all__ = ["XML", "parse"]

_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")


def parse(data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
    """The text of an XML document; `settings` are those of `XmlConfig` and the `encoding` that the user names, if any.

    Raises `DocumentError`: `unreadable` for what is not well-formed, `xml_forbidden` for entities that expand beyond
    measure, `decode_error` where no encoding fits.
    """
    options = dict(settings)
    markup, facts = decode_page(data, options.pop("encoding", None))
    markup, repaired = repair_surrogates(markup)
    if repaired:
        facts["repaired_surrogates"] = repaired
    root, declared = _tree(markup)
    entities = Entities(declared)
    text = _TreeText(vocabulary_of(_name(root), XmlConfig(**options)), entities)
    text.read(root)
    remarks = facts | text.remarks
    if entities.left_out:
        remarks["entities_left_out"] = entities.left_out
    return ParsedDocument(text.blocks.text, sections=text.blocks.sections, remarks=remarks)


def _tree(markup: str) -> tuple[Any, dict[str, str | None]]:
    """The outermost element, and the entities that the document declares."""
    need("lxml", "xml")
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding="utf-8",
    )
    line, endless = 0, False
    try:
        root = etree.fromstring(_DECLARATION.sub("", markup, count=1).encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:  # its message may hold the text
        line = error.lineno or 1
        endless = error.code == etree.ErrorTypes.ERR_ENTITY_LOOP or "amplification" in (error.msg or "")
    if line and endless:
        raise endless_entities()
    if line:
        raise DocumentError("unreadable", f"The XML of the document is not well-formed or too deep, in line {line}.")
    subset = root.getroottree().docinfo.internalDTD
    declared = {} if subset is None else {entity.name: entity.content for entity in subset.iterentities()}
    return root, declared


def _name(element: Any) -> str:
    """The name of an element without its namespace; empty for an entity."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


class _TreeText:
    """Collects the text of a tree in `blocks`, and its title and language in `remarks`."""

    def __init__(self, vocabulary: Vocabulary, entities: Entities) -> None:
        self.blocks = BlockText()
        self.remarks: dict[str, Any] = {}
        self._vocabulary = vocabulary
        self._entities = entities
        self._place: list[str] = []
        self._counted = 0 if vocabulary.text else 1  # open elements that hold the text
        self._level = 0
        self._cells: list[int] = []
        self._after_element = False  # nothing stands between the element before and what comes now

    def read(self, root: Any) -> None:
        """Read the whole tree, without recursion: element by element, what it holds before what follows it."""
        stack: list[tuple[Any, bool, bool]] = [(root, False, False)]  # element, whether it ends, whether it was guessed
        while stack:
            element, ends, guessed = stack.pop()
            if ends:
                self._leave(guessed)
                self._write(element.tail if self._place else None)
                continue
            name = _name(element)
            if not name:
                self._write(self._entities.text(element.name))
                self._write(element.tail)
                continue
            self._place.append(name)
            if self._vocabulary.dropped.match(self._place):
                self._place.pop()
                self._write(element.tail if self._place else None)
                continue
            self._enter(element, guessed)
            stack.append((element, True, guessed))
            self._write(element.text)
            lines = self._vocabulary.guessed and _holds_elements_only(element)
            stack.extend((child, False, lines) for child in reversed(element))

    def _write(self, text: str | None) -> None:
        if text and self._counted:
            self.blocks.flow(text)
            self._after_element = False

    def _enter(self, element: Any, guessed: bool) -> None:
        known, place, blocks = self._vocabulary, self._place, self.blocks
        if known.text and known.text.match(place):
            self._counted += 1
            blocks.block(PARAGRAPH)
        if len(place) == 1:
            language = element.get("{http://www.w3.org/XML/1998/namespace}lang")
            if language:
                self.remarks["lang"] = language
        if "title" not in self.remarks and known.title.match(place):
            title = " ".join("".join(self._plain(element)).split())
            if title:
                self.remarks["title"] = title
        if not self._counted:
            return
        if known.tables.match(place):
            blocks.table()
            self._cells.append(0)
        elif self._cells and known.rows.match(place):
            blocks.row()
            self._cells[-1] = 0
        elif self._cells and known.cells.match(place):
            blocks.cell(first=self._cells[-1] == 0)
            self._cells[-1] += 1
        elif known.sections.match(place):
            self._level += 1
            blocks.heading(self._level)
        elif known.paragraphs.match(place):
            blocks.block(PARAGRAPH)
        elif known.words.match(place):
            if self._after_element:
                blocks.flow(" ")
        elif guessed or known.lines.match(place):
            blocks.block(LINE)

    def _leave(self, guessed: bool) -> None:
        known, place, blocks = self._vocabulary, self._place, self.blocks
        if self._counted:
            if known.tables.match(place):
                self._cells.pop()
                blocks.end_table()
            elif known.sections.match(place):
                self._level -= 1
                blocks.end_heading()
            elif known.paragraphs.match(place):
                blocks.block(PARAGRAPH)
            elif guessed or known.lines.match(place):
                blocks.block(LINE)
        if known.text and known.text.match(place):
            blocks.block(PARAGRAPH)
            self._counted -= 1
        place.pop()
        self._after_element = True

    def _plain(self, element: Any) -> list[str]:
        """The text of an element, entities as they are."""
        pieces = [element.text or ""]
        for inner in element.iterdescendants():
            pieces += [self._entities.text(inner.name) if not _name(inner) else inner.text or "", inner.tail or ""]
        return pieces


def _holds_elements_only(element: Any) -> bool:
    if (element.text or "").strip():
        return False
    return all(_name(child) and not (child.tail or "").strip() for child in element)


XML = FormattedReader("XML", (".xml", ".nxml", ".xml.gz", ".nxml.gz"), parse, lambda settings: settings.xml)
"""Reads XML of any kind."""

"""The text of one part of a Word document (body, notes, headers, footers) from the events of its XML.

Read as Word shows it with all changes accepted: insertions and what was moved here stay, deletions and what was moved
away go, fields show their result. Whatever else holds text is let through, known or not, so that none is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longdoc.readers.blocks import LINE, PARAGRAPH, BlockText
from longdoc.readers.docx_math import MathSigns
from longdoc.readers.docx_names import attribute, short_name
from longdoc.readers.docx_numbering import Numbering
from longdoc.readers.docx_styles import BODY, StylesPart, outline_level
from longdoc.readers.docx_symbols import symbol

__all__ = ["WordText"]

_LINE_END = re.compile(r"[ \t]*[\r\n]\s*")  # of a program that indented the XML; Word writes none
_DROPPED = {"w:del", "w:moveFrom"}
_SIGNS = {"w:tab": "\t", "w:ptab": "\t", "w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"}
_TEXTS = {"w:t", "m:t", "a:t"}


@dataclass
class _Paragraph:
    """An open paragraph. `label` is written before its first text."""

    in_cell: bool
    style: str | None = None
    outline: int | None = None
    list_id: str | None = None
    list_level: int | None = None
    opened: bool = False
    label: str = ""
    heading: bool = False
    mark_deleted: bool = False


class WordText:
    """Takes the events of one part.

    Args:
        styles, numbering: of the document; without `numbering` lists get no numbers.
    """

    def __init__(self, styles: StylesPart, numbering: Numbering | None) -> None:
        self.blocks = BlockText()
        self.root = ""
        """Name of the outermost element."""
        self.notes: dict[str, BlockText] = {}
        """Footnotes or endnotes by id, in a part that holds such."""
        self.note_references: list[tuple[str, str]] = []
        """(`w:footnote` or `w:endnote`, id), in the order of the text."""
        self.frame_references: list[tuple[str, str]] = []
        """(`w:header` or `w:footer`, relationship), in the order of the document."""
        self.counts = {"tracked_changes": 0, "comments_left_out": 0, "embedded_parts_left_out": 0}
        self._styles = styles
        self._numbering = numbering
        self._skipped = 0  # open elements from the one on whose content does not count
        self._path: list[str] = []
        self._paragraphs: list[_Paragraph] = []
        self._cells: list[int] = []  # of the open tables: cells begun in the row
        self._boxes: list[int] = []  # how many tables were open where a text box began
        self._fields: list[bool] = []  # of the open fields: whether the result has begun
        self._choices: list[int] = []  # of the open alternatives: how much text there was before them
        self._ruby: list[str] | None = None
        self._reading: list[str] | None = None
        self._text: list[str] | None = None
        self._math = MathSigns()
        self._merges = False
        self._last_list: str | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._skipped:
            self._skipped += 1
            return
        name = short_name(tag)
        if self._is_skipped(name):
            self._skipped = 1
            return
        self.root = self.root or name
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if name in _TEXTS:
            self._text = []
        elif name.startswith("m:"):
            self._write(self._math.start(name, attributes))
        elif parent in _PROPERTIES:
            _PROPERTIES[parent](self, name, attributes)
        elif name in _STARTS:
            _STARTS[name](self, attributes)
        elif name in _SIGNS:
            self._write(_SIGNS[name])

    def end(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        name = self._path.pop()
        if name in _TEXTS:
            self._write(_LINE_END.sub(" ", "".join(self._text or ())))
            self._text = None
        elif name.startswith("m:"):
            self._write(self._math.end(name))
        elif name in _ENDS and not (self._path and self._path[-1] in _PROPERTIES):
            _ENDS[name](self)

    def data(self, text: str) -> None:
        if self._text is not None and not self._skipped:
            self._text.append(text)

    def _is_skipped(self, name: str) -> bool:
        if name in _DROPPED and (not self._path or self._path[-1] not in ("w:rPr", "w:trPr")):
            self.counts["tracked_changes"] += 1
            return True
        if name in ("mc:Choice", "mc:Fallback"):  # the same content for newer and older programs
            return bool(self._choices) and self._choices[-1] != len(self.blocks)
        return name.startswith("w:") and name.endswith("Change")  # what the properties were before they were changed

    def _write(self, text: str) -> None:
        if not text:
            return
        if False in self._fields:  # the code of a field, which may hold fields with results of their own
            return
        if self._reading is not None:
            self._reading.append(text)
            return
        if self._paragraphs:
            paragraph = self._open_paragraph()
            if paragraph.label:
                label, paragraph.label = paragraph.label, ""
                self.blocks.verbatim(label)
        self.blocks.verbatim(text)

    # Paragraphs.

    def _start_paragraph(self, attributes: dict[str, str]) -> None:
        if self._paragraphs:
            self._open_paragraph()
        tables = self._boxes[-1] if self._boxes else 0
        self._paragraphs.append(_Paragraph(in_cell=len(self._cells) > tables))

    def _open_paragraph(self) -> _Paragraph:
        """Its properties are known: separate it from what was before, and count it in its list."""
        paragraph = self._paragraphs[-1]
        if paragraph.opened:
            return paragraph
        paragraph.opened = True
        style = self._styles.of(paragraph.style)
        outline = style.outline if paragraph.outline is None else paragraph.outline
        list_id = style.list_id if paragraph.list_id is None else paragraph.list_id
        level = style.list_level if paragraph.list_level is None else paragraph.list_level
        if list_id in (None, "0"):  # 0 takes a paragraph out of the list of its style
            list_id = None
        elif self._numbering is not None:
            if paragraph.list_level is None and paragraph.list_id is None:
                of_style = self._numbering.level_of_style(list_id or "", paragraph.style or "")
                level = level if of_style is None else of_style
            paragraph.label = self._numbering.label(list_id or "", level or 0)
        if self._merges:  # the end of the paragraph before was deleted
            self._merges = False
            return paragraph
        if outline is not None and outline < BODY and not paragraph.in_cell:
            paragraph.heading = True
            self.blocks.heading(outline)
        else:
            together = paragraph.in_cell or (list_id is not None and list_id == self._last_list)
            self.blocks.block(LINE if together else PARAGRAPH)
        self._last_list = None if paragraph.in_cell or paragraph.heading else list_id
        return paragraph

    def _end_paragraph(self) -> None:
        paragraph = self._open_paragraph()
        self._paragraphs.pop()
        self._fields = [True] * len(self._fields)  # no code of a field is longer than a paragraph
        if paragraph.mark_deleted:
            self._merges = True
        elif paragraph.heading:
            self.blocks.end_heading()
        else:
            self.blocks.block(LINE)

    def _paragraph_property(self, name: str, attributes: dict[str, str]) -> None:
        if not self._paragraphs:
            return
        paragraph = self._paragraphs[-1]
        value = attribute(attributes, "w:val") or ""
        if name == "w:pStyle":
            paragraph.style = value
        elif name == "w:outlineLvl":
            paragraph.outline = outline_level(value)
        elif name == "w:numId":
            paragraph.list_id = value
        elif name == "w:ilvl":
            paragraph.list_level = int(value) if value.isdecimal() else 0

    def _run_property(self, name: str, attributes: dict[str, str]) -> None:
        if name in _DROPPED and len(self._path) > 2 and self._path[-3] == "w:pPr" and self._paragraphs:
            self._paragraphs[-1].mark_deleted = True

    # Tables.

    def _start_table(self, attributes: dict[str, str]) -> None:
        if self._paragraphs:
            self._open_paragraph()
        tables = self._boxes[-1] if self._boxes else 0
        self.blocks.table(LINE if len(self._cells) > tables else PARAGRAPH)
        self._cells.append(0)
        self._last_list = None

    def _start_row(self, attributes: dict[str, str]) -> None:
        if self._cells:
            self.blocks.row()
            self._cells[-1] = 0

    def _start_cell(self, attributes: dict[str, str]) -> None:
        if self._cells:
            self.blocks.cell(first=self._cells[-1] == 0)
            self._cells[-1] += 1

    def _end_table(self) -> None:
        self._cells.pop()
        tables = self._boxes[-1] if self._boxes else 0
        self.blocks.end_table(LINE if len(self._cells) > tables else PARAGRAPH)

    # Text boxes, and the same content told twice.

    def _start_box(self, attributes: dict[str, str]) -> None:
        if self._paragraphs:
            self._open_paragraph()
        self._boxes.append(len(self._cells))
        self.blocks.block(LINE)

    def _end_box(self) -> None:
        self._boxes.pop()
        self.blocks.block(LINE)

    def _start_alternatives(self, attributes: dict[str, str]) -> None:
        self._choices.append(len(self.blocks))

    def _end_alternatives(self) -> None:
        self._choices.pop()

    # Inside of lines.

    def _break(self, attributes: dict[str, str]) -> None:
        if self._paragraphs:
            self._open_paragraph()
        if False not in self._fields:
            self.blocks.line_break()

    def _symbol(self, attributes: dict[str, str]) -> None:
        self._write(symbol(attribute(attributes, "w:font"), attribute(attributes, "w:char")))

    def _field(self, attributes: dict[str, str]) -> None:
        kind = attribute(attributes, "w:fldCharType")
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _start_reading(self, attributes: dict[str, str]) -> None:
        self._reading = []

    def _end_reading(self) -> None:
        self._ruby, self._reading = self._reading, None

    def _end_ruby(self) -> None:
        """The reading stands before its word in the file, and above it on the page."""
        reading, self._ruby = "".join(self._ruby or ()), None
        if reading:
            self._write(f"({reading})")

    # References to other parts.

    def _footnote(self, attributes: dict[str, str]) -> None:
        self.note_references.append(("w:footnote", attribute(attributes, "w:id") or ""))

    def _endnote(self, attributes: dict[str, str]) -> None:
        self.note_references.append(("w:endnote", attribute(attributes, "w:id") or ""))

    def _section_property(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("w:headerReference", "w:footerReference"):
            self.frame_references.append((name.removesuffix("Reference"), attribute(attributes, "r:id") or ""))

    def _count_change(self, attributes: dict[str, str]) -> None:
        self.counts["tracked_changes"] += 1

    def _count_comment(self, attributes: dict[str, str]) -> None:
        self.counts["comments_left_out"] += 1

    def _count_embedded(self, attributes: dict[str, str]) -> None:
        self.counts["embedded_parts_left_out"] += 1

    def _start_note(self, attributes: dict[str, str]) -> None:
        """Each note is a text of its own. Lines that separate notes from the page have a type."""
        if len(self._path) != 2:
            return
        self.blocks = BlockText()
        if attribute(attributes, "w:type") in (None, "normal"):
            self.notes[attribute(attributes, "w:id") or ""] = self.blocks


_PROPERTIES = {
    "w:pPr": WordText._paragraph_property,
    "w:numPr": WordText._paragraph_property,
    "w:rPr": WordText._run_property,
    "w:tabs": lambda text, name, attributes: None,  # places to jump to, not jumps
    "w:sectPr": WordText._section_property,
}
_STARTS = {
    "w:p": WordText._start_paragraph,
    "a:p": WordText._start_paragraph,
    "w:tbl": WordText._start_table,
    "w:tr": WordText._start_row,
    "w:tc": WordText._start_cell,
    "w:txbxContent": WordText._start_box,
    "mc:AlternateContent": WordText._start_alternatives,
    "w:br": WordText._break,
    "w:cr": WordText._break,
    "w:sym": WordText._symbol,
    "w:fldChar": WordText._field,
    "w:rt": WordText._start_reading,
    "w:footnoteReference": WordText._footnote,
    "w:endnoteReference": WordText._endnote,
    "w:ins": WordText._count_change,
    "w:moveTo": WordText._count_change,
    "w:commentReference": WordText._count_comment,
    "w:altChunk": WordText._count_embedded,
    "w:footnote": WordText._start_note,
    "w:endnote": WordText._start_note,
}
_ENDS = {
    "w:p": WordText._end_paragraph,
    "a:p": WordText._end_paragraph,
    "w:tbl": WordText._end_table,
    "w:txbxContent": WordText._end_box,
    "mc:AlternateContent": WordText._end_alternatives,
    "w:rt": WordText._end_reading,
    "w:ruby": WordText._end_ruby,
}

"""Bug reports from the field about documents of an office, each with inputs of our own and the right values."""

from __future__ import annotations

from pathlib import Path

import pytest

from docx_kit import docx, paragraph, run
from longdoc.errors import DocumentError
from longdoc.readers import docx as word
from longdoc.readers import pdf as portable
from longdoc.readers import read_documents
from longdoc.types import Document
from pdf_kit import pdf
from reader_kit import write


def cell(*content: str) -> str:
    return f"<w:tc><w:tcPr/>{''.join(content)}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_b079_tables_stand_between_their_neighbours_and_merged_cells_are_read_once() -> None:
    nested = table(cell(paragraph("n1")))
    cells = table(
        cell(paragraph("a1")) + cell(paragraph("a2")), cell(paragraph("b1")) + cell(paragraph("b2"), nested, "<w:p/>")
    )
    wide = f'<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{paragraph("once")}</w:tc>'
    body = paragraph("BEFORE") + cells + paragraph("AFTER") + table(wide)
    assert word.parse(docx(body), {}).text.split() == ["BEFORE", "a1", "a2", "b1", "b2", "n1", "AFTER", "once"]


def test_b080_insertions_and_links_are_read_and_deletions_are_not() -> None:
    inserted = f'<w:ins w:id="1" w:author="x">{run("5 mg ")}</w:ins>'
    deleted = '<w:del w:id="2" w:author="x"><w:r><w:delText>50 mg </w:delText></w:r></w:del>'
    link = f'<w:hyperlink r:id="x">{run("daily")}</w:hyperlink>'
    document = word.parse(docx(paragraph(run("Dose ") + inserted + deleted + link + run("."))), {})
    assert document.text == "Dose 5 mg daily."
    assert document.remarks["tracked_changes"] == 2


def test_b081_words_at_the_ends_of_lines_and_pages_stay_apart() -> None:
    pytest.importorskip("pypdfium2")
    data = pdf(["ends with alpha\nbeta begins", "ends with omega", "psi begins and exam-\nple ends"])
    assert portable.parse(data, {}).text.split() == (
        "ends with alpha beta begins ends with omega psi begins and exam- ple ends".split()
    )
    joined = portable.parse(data, {"join_hyphenated": True})
    assert joined.text.split()[-2:] == ["example", "ends"]
    assert [joined.text[page.start : page.end].split()[0] for page in joined.pages or ()] == ["ends", "ends", "psi"]


def test_b085_pictures_of_text_are_told_and_the_other_files_go_on(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    for data, reason, why in (
        (pdf(["", ""]), "empty", "None of the 2 pages has a text layer: they need optical recognition."),
        (pdf(["text"])[:300], "unreadable", "The PDF file is damaged or cut off."),
    ):
        with pytest.raises(DocumentError) as refused:
            portable.parse(data, {})
        assert (refused.value.reason, str(refused.value)) == (reason, why)
    half = portable.parse(pdf(["a page of text", ""]), {})
    assert (half.text, half.remarks["pages_without_text"]) == ("a page of text\f", 1)
    write(tmp_path / "a.pdf", pdf(["", ""]))
    write(tmp_path / "b.txt", "good")
    records = [record.document for record in read_documents([tmp_path])]
    assert [record.text if isinstance(record, Document) else record.reason for record in records] == ["empty", "good"]

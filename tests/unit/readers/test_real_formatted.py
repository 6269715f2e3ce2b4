"""Real files of the trade, each against a second way to find its text that shares no code with the reader."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import DataError
from longdoc.readers.document_settings import DocxConfig, HtmlConfig
from longdoc.readers.html import DROPPED
from longdoc.types import Document
from reader_kit import documents_of, failures_of, records_of

FILES = Path(__file__).resolve().parents[4] / "shared" / "data" / "files"


def names(folder: str, *suffixes: str) -> list[str]:
    """Files of a folder; one that does not exist where the data are absent, so that the tests say they are skipped."""
    found = sorted(path.name for path in (FILES / folder).glob("*") if path.suffix in suffixes)
    return [f"{folder}/{name}" for name in found] or [f"{folder}/absent"]


def read(shared: Path, name: str, **options: Any) -> Document:
    (document,) = documents_of(records_of(shared / "data" / "files" / name, **options))
    return document


def packed(text: str) -> str:
    return "".join(text.split())


class Plain(HTMLParser):
    """All character data outside of what is left out, as Python's own scanner sees it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.dropped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED - {"frame"}:
            self.dropped.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self.dropped:
            self.dropped.pop()

    def handle_data(self, data: str) -> None:
        if not self.dropped:
            self.pieces.append(data)


@pytest.mark.parametrize("name", names("html", ".html"))
def test_every_character_of_a_page_is_there_in_order(shared_folder: Path, name: str) -> None:
    plain = Plain()
    plain.feed((shared_folder / "data" / "files" / name).read_bytes().decode("utf-8"))
    plain.close()
    assert packed(read(shared_folder, name, html=HtmlConfig(list_numbers=False)).text) == packed("".join(plain.pieces))


def words_of_body(path: Path) -> str:
    """All text of the body but what was deleted, moved away or is told a second time for older programs."""
    from lxml import etree

    root = etree.fromstring(zipfile.ZipFile(path).read("word/document.xml"))

    def local(element: Any) -> str:
        return str(etree.QName(element).localname)

    texts = (element for element in root.iter("{*}t") if "math" not in element.tag)
    return "".join(
        element.text or ""
        for element in texts
        if not {local(above) for above in element.iterancestors()} & {"del", "moveFrom", "Fallback"}
    )


@pytest.mark.parametrize("name", names("word", ".docx"))
def test_every_character_of_a_word_document_is_there_in_order(shared_folder: Path, name: str) -> None:
    plain = DocxConfig(headers=False, notes=False, list_numbers=False)
    expected = words_of_body(shared_folder / "data" / "files" / name)
    assert packed(read(shared_folder, name, docx=plain).text) == packed(expected)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("docling--Strict.docx", ["Some text"]),
        ("docling--docx_checkboxes.docx", ["☒ Orange juice\n☐ Tea"]),
        ("docling--docx_lists.docx", ["1. List item a\n2. List item b"]),
        ("docling--tablecell.docx", ["Tab1\tTab2\tTab3\nA\tB\tC\nD\tE\tF"]),
        (
            "docling--unit_test_headers_numbered.docx",
            ["1. Section 1\n", "1.2.1. Section 1.2.3\n"],
        ),
        ("docling--docx_page_header_footer_first_page.docx", ["FIRST PAGE HEADER (page 1 only)\n\nREGULAR HEADER"]),
        ("doctor--word-docx.docx", ["Docket No. MD17-00012"]),
    ],
)
def test_what_word_shows_is_in_the_text(shared_folder: Path, name: str, parts: list[str]) -> None:
    text = read(shared_folder, f"word/{name}").text
    assert all(part in text for part in parts)


def test_headings_of_a_real_document_are_its_sections(shared_folder: Path) -> None:
    document = read(shared_folder, "word/docling--unit_test_headers_numbered.docx")
    titles = [(document.text[start:].split("\n")[0], level) for start, level in document.meta["sections"]]
    assert titles[:4] == [
        ("1. Section 1", 1),
        ("1.1. Section 1.1", 2),
        ("1.2. Section 1.2", 2),
        ("1.2.1. Section 1.2.3", 3),
    ]


@pytest.mark.parametrize("name", ["doctor--word-doc.doc", "docling--greek_heading_styles.doc"])
def test_old_word_documents_are_refused_with_the_way_out(shared_folder: Path, name: str) -> None:
    (failure,) = failures_of(records_of(shared_folder / "data" / "files" / "word" / name))
    assert (failure.id, failure.reason) == (name, "unsupported_type")
    assert failure.detail == "This is a document of Word 97 to 2003 (.doc). Open it in Word and save it as .docx."


@pytest.mark.parametrize("name", [*names("other", ".msg", ".epub", ".rtf"), *names("word", ".odt", ".wpd")])
def test_other_formats_are_refused_by_name(shared_folder: Path, name: str) -> None:
    if not name.endswith("absent"):
        with pytest.raises(DataError, match="is of a type that cannot be read"):
            records_of(shared_folder / "data" / "files" / name)


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("CRAFT--Arthritis_Res_Ther-8-2-1526604.nxml", "pmid-16507151"),
        ("CRAFT--Arthritis_Res_Ther-9-1-1860061.nxml", "pmid-17244351"),
    ],
)
def test_an_article_has_the_words_that_its_corpus_took_from_it(shared_folder: Path, name: str, identity: str) -> None:
    """CRAFT made its plain text from the same files; it leaves out references, authors and tables."""
    corpus: dict[str, str] = {}
    for path in (shared_folder / "data" / "craft").glob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            corpus.update((row["id"], row["text"]) for row in map(json.loads, lines) if row["id"] == identity)
    expected = re.findall(r"\w+", corpus[identity])
    found = re.findall(r"\w+", read(shared_folder, f"xml/{name}").text)
    changes = SequenceMatcher(None, expected, found, autojunk=False).get_opcodes()
    missing = [expected[start:end] for kind, start, end, _, _ in changes if kind in ("delete", "replace")]
    assert missing == [["Abstract"]]  # a heading that the corpus put in


@pytest.mark.parametrize("name", names("xml", ".nxml", ".xml"))
def test_every_xml_document_is_read_with_its_text(shared_folder: Path, name: str) -> None:
    document = read(shared_folder, name)
    assert len(document.text) > 20_000
    assert "\n\n\n" not in document.text
    if name.endswith(".nxml"):
        assert document.text.startswith(document.meta["title"])
        assert len(document.meta["sections"]) > 15


def test_notices_of_a_court_are_read(shared_folder: Path) -> None:
    document = read(shared_folder, "other/juriscraper--25-112.eml")
    assert document.text.startswith('A new docket entry, "Judgment VACATED and case REMANDED. Kagan, J., delivered')
    assert document.meta["subject"] == "Supreme Court Electronic Filing System"
    document = read(shared_folder, "other/docling--eml_with_attachment.eml")
    assert document.text == "Hello Bob,\n\nThis email contains an attachment.\n\nBest regards,\nAlice"
    assert document.meta["attachments"] == ["text/plain"]

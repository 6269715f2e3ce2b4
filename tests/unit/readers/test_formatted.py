"""Formatted documents as files: ids, limits, compression, what is missing; the order of their sections in positions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from docx_kit import docx, paragraph
from longdoc.errors import DocumentError
from longdoc.readers import docx as docx_reader
from longdoc.readers import extras, html, xml
from longdoc.readers.document_settings import DocxConfig, HtmlConfig, XmlConfig
from longdoc.text.axes import DocumentAxes
from longdoc.types import Document
from reader_kit import documents_of, failures_of, records_of, write

PAGE = "<p>front<h1>One</h1><p>a b<p>c<h2>Two</h2><p>d"


def read(path: Path, data: bytes | str, **options: object) -> Document:
    (document,) = documents_of(records_of(write(path, data), **options))
    return document


def test_a_file_is_one_document_with_its_path_as_id(tmp_path: Path) -> None:
    path = write(tmp_path / "page.html", PAGE)
    (record,) = records_of(path)
    (document,) = documents_of([record])
    assert (document.id, document.text) == ("page.html", "front\n\nOne\n\na b\n\nc\n\nTwo\n\nd")
    assert dict(document.meta) == {"encoding": "utf-8", "encoding_source": "strict", "sections": [[7, 1], [20, 2]]}
    json.dumps(dict(document.meta), allow_nan=False)
    assert (record.cursor, str(record.place)) == (0, "page.html")
    assert records_of(path, cursor=1) == []


def test_compressed_pages_are_read(tmp_path: Path) -> None:
    assert read(tmp_path / "in.xml.gz", gzip.compress(b"<a>text</a>")).text == "text"
    data = gzip.compress(b"<p>text" * 1000)
    (failure,) = failures_of(records_of(write(tmp_path / "in.html.gz", data[:-9])))
    assert (failure.id, failure.reason) == ("in.html.gz", "unreadable")


@pytest.mark.parametrize("suffix", [".docx", ".pdf", ".html", ".eml", ".xml", ".html.gz"])
def test_an_empty_file_is_called_empty(tmp_path: Path, suffix: str) -> None:
    data = gzip.compress(b"") if suffix.endswith(".gz") else b""
    (failure,) = failures_of(records_of(write(tmp_path / f"in{suffix}", data)))
    assert (failure.reason, failure.detail) == ("empty", "The file is empty.")


def test_the_configuration_reaches_the_parser(tmp_path: Path) -> None:
    assert read(tmp_path / "a.html", "<p>a<p hidden>b", html=HtmlConfig(hidden=False)).text == "a"
    assert read(tmp_path / "a.xml", "<r><a>x</a><b>y</b></r>", xml=XmlConfig(text=("b",))).text == "y"
    cyrillic = "да".encode("koi8-r")
    assert read(tmp_path / "b.html", b"<p>" + cyrillic, encoding="koi8-r").text == "да"
    assert read(tmp_path / "a.docx", docx(paragraph("x")), encoding="koi8-r", docx=DocxConfig(notes=False)).text == "x"


def test_limits_hold_for_the_file_and_for_its_text(tmp_path: Path) -> None:
    sentence = "The text has more than 5000 bytes. Raise `read.max_bytes` to read it."
    for name, data in (("a.html", b"<p>" + b" " * 6000), ("a.docx", docx(paragraph("x" * 6000)))):
        (failure,) = failures_of(records_of(write(tmp_path / name, data), max_bytes=5000))
        assert (failure.reason, failure.detail) == ("too_large", sentence)


def test_a_missing_package_is_named_with_the_line_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for parse, data, package, extra in (
        (html.parse, b"<p>x", "selectolax", "html"),
        (docx_reader.parse, docx(paragraph("x")), "lxml", "docx"),
        (xml.parse, b"<a>x</a>", "lxml", "xml"),
    ):
        with pytest.raises(DocumentError) as refused:
            parse(data, {})
        assert refused.value.reason == "unsupported_type"
        assert str(refused.value) == (
            f"Reading this file needs the package {package}, which is not installed. "
            f'Run: pip install "longdoc[{extra}]"'
        )
    assert read(tmp_path / "a.eml", b"Subject: s\n\nplain").text == "plain"
    with pytest.raises(DocumentError, match="unheard_of"):
        extras.need("unheard_of", "x")


@pytest.mark.parametrize("name", ["a.html", "a.docx"])
def test_sections_and_paragraphs_are_those_of_the_headings(tmp_path: Path, name: str) -> None:
    heading = '<w:outlineLvl w:val="{}"/>'.format
    word = docx(
        paragraph("front")
        + paragraph("One", heading(0))
        + paragraph("a b")
        + paragraph("c")
        + paragraph("Two", heading(1))
        + paragraph("d")
    )
    document = read(tmp_path / name, word if name == "a.docx" else PAGE)
    assert document.text == "front\n\nOne\n\na b\n\nc\n\nTwo\n\nd"
    starts = [document.text.index(word) for word in ("front", "One", "a b", "b", "c", "Two", "d")]
    offsets = np.array([(start, start + 1) for start in starts], dtype=np.int32)
    section, inside, depth = DocumentAxes(document, ("section", "paragraph", "depth")).of(offsets).tolist()
    assert section == [0, 1, 1, 1, 1, 2, 2]
    assert inside == [1, 1, 2, 2, 3, 1, 2]
    assert depth == [2, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("sections", ["x", [1], [[1]], [["a", 1]], [[99, 1]], [], None, [[True, 1]]])
def test_a_column_called_sections_that_means_something_else_changes_nothing(sections: object) -> None:
    document = Document("d", "# A\n\nb\n\n# C", meta={"sections": sections})
    offsets = np.array([(0, 1), (9, 10)], dtype=np.int32)
    assert DocumentAxes(document, ("section",)).of(offsets).tolist() == [[1, 2]]

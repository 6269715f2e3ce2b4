"""PDF: pages and their numbers, what is refused and why, and the handed files with their right values."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from longdoc.errors import DataError, DocumentError
from longdoc.readers import read_documents, sandbox
from longdoc.readers.parsed import ParsedDocument, page_at
from longdoc.readers.pdf import parse
from longdoc.types import Document, DocumentFailure
from pdf_kit import pdf
from reader_kit import documents_of, failures_of, records_of, write

PAGES = ["Header 1\nalpha beta\nends with omega", "", "Header 3\npsi starts"]


def refusal(data: bytes, **settings: Any) -> tuple[str, str]:
    with pytest.raises(DocumentError) as refused:
        parse(data, settings)
    return refused.value.reason, str(refused.value)


def test_pages_are_kept_with_their_numbers_and_separated_by_form_feeds() -> None:
    parsed = parse(pdf(PAGES, title="A (short) title"), {"encoding": None})
    assert parsed.text == "\f".join(PAGES)
    assert parsed.pages == ((0, 35, 1), (36, 36, 2), (37, 56, 3))
    assert [parsed.text[start:end] for start, end, _ in parsed.pages or ()] == PAGES
    assert parsed.remarks == {"title": "A (short) title", "pages_without_text": 1}
    assert ParsedDocument.from_bytes(parsed.to_bytes()) == parsed


def test_an_offset_names_its_page() -> None:
    meta = parse(pdf(PAGES), {}).meta
    assert [page_at(meta, offset) for offset in (0, 34, 35, 37, 55)] == [1, 1, 1, 3, 3]
    assert page_at({}, 3) is None


def test_lines_and_words_are_not_glued() -> None:
    text = parse(pdf(["one alpha\nbeta two", "three"]), {}).text
    assert text.split() == ["one", "alpha", "beta", "two", "three"]


def test_words_are_joined_over_line_ends_only_when_asked_and_pages_follow() -> None:
    data = pdf(["a hyphen-\nated word", "non-\n1 and so on"])
    assert parse(data, {}).text == "a hyphen-\nated word\fnon-\n1 and so on"
    joined = parse(data, {"join_hyphenated": True})
    assert joined.text == "a hyphenated word\fnon-\n1 and so on"
    assert joined.pages == ((0, 17, 1), (18, 34, 2))


def test_running_lines_go_only_when_asked() -> None:
    bodies = [f"{word} begins\nand\nends with {word}" for word in ("alpha", "beta", "gamma", "delta")]
    pages = [f"Case 12/345\nPage {n} of 4\n{body}\nfooter" for n, body in enumerate(bodies, 1)]
    assert parse(pdf(pages), {}).text == "\f".join(pages)
    without = parse(pdf(pages), {"drop_running_lines": True})
    assert without.text == "\f".join(bodies)
    assert [without.text[start:end] for start, end, _ in without.pages or ()] == bodies
    assert [page.number for page in without.pages or ()] == [1, 2, 3, 4]


def test_refusals_say_what_is_wrong() -> None:
    assert refusal(b"<html><p>not found</p></html>") == (
        "unreadable",
        "The file is no PDF: it does not begin like one.",
    )
    assert refusal(b"") == ("unreadable", "The file is no PDF: it does not begin like one.")
    assert refusal(b"%PDF-1.7\n garbage") == ("unreadable", "The PDF file is damaged or cut off.")
    assert refusal(pdf(["", ""])) == (
        "empty",
        "None of the 2 pages has a text layer: they need optical recognition.",
    )
    assert refusal(pdf([""])) == ("empty", "The only page has no text layer: it needs optical recognition.")
    assert refusal(pdf(PAGES), max_pages=2) == (
        "too_large",
        "The file has 3 pages. Raise `read.pdf.max_pages` (2) to read it.",
    )


def test_a_folder_goes_on_after_a_bad_file_and_a_pdf_under_another_name_is_told(tmp_path: Path) -> None:
    write(tmp_path / "a.pdf", pdf(["first"]))
    write(tmp_path / "b.pdf", b"%PDF-1.7\n garbage")
    write(tmp_path / "c.PDF", pdf(["third"]))
    write(tmp_path / "d.txt", pdf(["fourth"]))
    found = {}
    for record in read_documents([tmp_path]):
        document = record.document
        found[document.id] = document.reason if isinstance(document, DocumentFailure) else document.text
    assert found == {"a.pdf": "first", "b.pdf": "unreadable", "c.PDF": "third", "d.txt": "unsupported_type"}


def test_without_the_library_the_sentence_has_the_line_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longdoc.readers.extras.find_spec", lambda name: None)
    assert refusal(pdf(["x"])) == (
        "unsupported_type",
        'Reading this file needs the package pypdfium2, which is not installed. Run: pip install "longdoc[pdf]"',
    )


def test_without_a_process_to_parse_in_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.pdf", pdf(["x"]))
    sandbox.close_sandboxes()
    monkeypatch.setattr("sys.executable", str(tmp_path / "nothing"))
    with pytest.raises(DataError) as refused:
        records_of(path)
    assert str(refused.value) == (
        "The process that PDF, Word and other documents are parsed in cannot be started. Check that `sys.executable` "
        "is a Python that can import longdoc, and that there is memory for it."
    )


def test_handed_cases_have_their_right_values(shared_folder: Path) -> None:
    folder = shared_folder / "cases" / "files"
    cases = [c for c in json.loads((folder / "manifest.json").read_text("utf-8"))["files"] if c["kind"] == "pdf"]
    assert len(cases) == 7
    for case in cases:
        expect, records = case["expect"], records_of(folder / case["file"])
        if expect.get("error") or expect.get("flag") == "empty":
            assert [failure.reason == "empty" for failure in failures_of(records)] == ["flag" in expect], case["file"]
            continue
        (document,) = documents_of(records)
        words = document.text.split()
        assert len(document.meta["pages"]) == expect["n_pages"], case["file"]
        assert all(part in document.text for part in expect.get("must_contain", ())), case["file"]
        assert not any("".join(pair) in words for pair in expect.get("must_not_glue", ())), case["file"]
        assert "word_set" not in expect or sorted(words) == expect["word_set"], case["file"]


def test_real_files_are_read_or_refused_for_the_right_reason(shared_folder: Path) -> None:
    folder = shared_folder / "data" / "files" / "pdf"
    found = {}
    for record in read_documents([folder]):
        assert isinstance(record.document, (Document, DocumentFailure))
        if isinstance(record.document, DocumentFailure):
            found[record.document.id] = record.document.reason
    assert found == {
        "doctor--image-pdf-2.pdf": "empty",
        "markitdown--MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "empty",
        "pdfplumber--empty.pdf": "empty",
        "pdfplumber--password-example.pdf": "encrypted",
        "sample-files--libreoffice-writer-password.pdf": "encrypted",
    }


def test_contracts_have_the_words_of_their_reference_texts(shared_folder: Path) -> None:
    files = shared_folder / "data" / "files"
    lines = [json.loads(line) for line in (files / "MANIFEST.jsonl").read_text("utf-8").splitlines()]
    wanted = {line["cuad_id"]: files / line["path"] for line in lines if "cuad_id" in line}
    references = {}
    for path in sorted((shared_folder / "data" / "cuad").glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            row = json.loads(line)
            if row.get("id") in wanted:
                references[row["id"]] = row["text"]
    if not references:
        pytest.skip("the folder `shared` has no reference texts of the contracts under their ids")
    for name, text in references.items():
        (document,) = documents_of(records_of(wanted[name]))
        right, found = (set(re.findall(r"[a-z]{4,}", content.lower())) for content in (text, document.text))
        assert len(right & found) >= 0.97 * len(right)

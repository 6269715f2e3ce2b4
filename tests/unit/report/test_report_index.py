"""The index of many reports, and their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from longdoc.errors import UsageError
from longdoc.report.folder import check_report_folder, write_reports
from longdoc.report.html import ExplainedDocument
from longdoc.report.index import index_page, index_row
from longdoc.types import DocumentFailure, DocumentPrediction, LabelScore

GOOD = DocumentPrediction(
    "private name.txt", "lease", 0.75, (LabelScore("lease", 0.75),), n_tokens=90, tokens_read=80, n_chunks=2
)
BAD = DocumentFailure("<b>.pdf", "encrypted", detail='the "file" needs a password')


def test_rows_say_what_became_of_each_document() -> None:
    page = index_page([index_row(GOOD, "documents/000001.html"), index_row(BAD, None)])
    assert "2 documents, 1 answered, 1 failed." in page
    assert "left out" not in page
    assert "1 more document left out by the limit." in index_page([], left_out=1)
    assert "Without an answer: 1 (encrypted)." in page
    assert "1 was read in part only." in page
    assert (
        '<tr data-status="answered" data-labels="0"><td class="number">1</td>'
        '<td><a href="documents/000001.html"><bdi>private name.txt</bdi></a></td><td><bdi>lease</bdi></td>'
        '<td class="number">0.750</td><td class="number partly">80</td><td class="number">90</td>'
        '<td class="number">2</td></tr>'
    ) in page
    assert (
        '<td><bdi>&lt;b&gt;.pdf</bdi></td><td><b class="failed">failed: encrypted</b> '
        '<span class="faint">the &#34;file&#34; needs a password</span></td>'
    ) in page


def test_a_folder_has_numbered_pages_and_an_index_and_forgets_the_report_before(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    told: list[tuple[int, int]] = []
    text = "secret words"
    items = [ExplainedDocument(GOOD, text), ExplainedDocument(BAD, ""), ExplainedDocument(GOOD, text)]
    rows = write_reports(folder, iter(items), lambda *counts: told.append(counts))
    assert [row.page for row in rows] == ["documents/000001.html", None, "documents/000003.html"]
    assert told == [(1, 0), (2, 1), (3, 1)]
    assert sorted(path.name for path in folder.rglob("*.html")) == ["000001.html", "000003.html", "index.html"]
    page = (folder / "documents" / "000003.html").read_text("utf-8")
    assert '<a href="../index.html">All documents</a>' in page
    assert text in page
    assert text not in (folder / "index.html").read_text("utf-8")
    check_report_folder(folder)
    write_reports(folder, items[:2])
    assert sorted(path.name for path in folder.rglob("*.html")) == ["000001.html", "index.html"]


def test_a_folder_cut_short_has_no_index(tmp_path: Path) -> None:
    write_reports(tmp_path, [ExplainedDocument(GOOD, "text")])

    def broken():
        yield ExplainedDocument(GOOD, "text")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_reports(tmp_path, broken())
    assert not (tmp_path / "index.html").exists()


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    check_report_folder(tmp_path)
    check_report_folder(tmp_path / "new")
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(UsageError) as refused:
        check_report_folder(tmp_path)
    assert str(refused.value) == (
        f"`output` must be a new folder, an empty one or one of an earlier report, but {tmp_path} holds 1 other file. "
        "Name another folder, or a file that ends in .html for one page."
    )

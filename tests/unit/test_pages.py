"""Pages: from a PDF to spans, passages, rows of a job and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from job_kit import load_echo, write_documents
from longdoc.adapters.tables import to_table
from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.jobs import JobConfig, export_job, run_job, verify_job
from longdoc.jobs.row_kinds import rows_of
from longdoc.pages import page_numbers, page_words, with_pages
from longdoc.pipeline import Pipeline
from longdoc.readers.parsed import PageSpan, page_at, told_pages
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.marked import marked_text
from longdoc.types import (
    AnswerSpan,
    Document,
    DocumentPrediction,
    EvidencePassage,
    LabelScore,
    ScoredSpan,
)
from pdf_kit import pdf
from reader_kit import documents_of, records_of

CONFIG = Path(__file__).parents[2] / "configs" / "debug_tiny.yaml"
META = {"pages": [[0, 4, 1], [5, 5, 2], [6, 9, 3]]}  # "abcd\f\fefg"


def test_a_place_has_the_page_it_begins_on_and_the_one_it_ends_on() -> None:
    pages = told_pages(META)
    assert [page_numbers(pages, *place) for place in ((0, 4), (6, 9), (3, 8), (2, 2))] == [
        (1, None),
        (3, None),
        (1, 3),
        (1, None),
    ]
    assert page_numbers((), 0, 4) == (None, None)
    assert [page_words(*each) for each in ((None,), (3,), (3, 5))] == ["", "page 3", "pages 3 to 5"]


@settings(deadline=None, max_examples=80)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_pages_are_those_of_a_walk_through_the_text(lengths: list[int], data: st.DataObject) -> None:
    pages, owners, start = [], [], 0
    for number, length in enumerate(lengths, 1):
        pages.append([start, start + length, number])
        owners += [number] * (length + 1)  # its form feed is its own
        start += length + 1
    end = data.draw(st.integers(1, len(owners)))
    begin = data.draw(st.integers(0, end - 1))
    first, last = owners[begin], owners[end - 1]
    item = EvidencePassage(begin, end, "x", 1.0)
    (found,) = with_pages([item], {"pages": pages})
    assert found == EvidencePassage(begin, end, "x", 1.0, first, None if first == last else last)
    assert page_at({"pages": pages}, begin) == first


@pytest.mark.parametrize(
    "told",
    [
        None,
        12,
        "12",
        [],
        [1, 2],
        [[0, 4]],
        [[0, 4, "1"]],
        [[4, 0, 1]],
        [[0, 4, 0]],
        [[5, 6, 1], [0, 4, 2]],
        [[0, 1.5, 1]],
    ],
)
def test_a_field_that_is_called_pages_but_means_something_else_is_nothing(told: Any) -> None:
    spans = [ScoredSpan(0, 4, "x", 0.5)]
    assert with_pages(spans, {"pages": told}) == tuple(spans)
    assert page_at({"pages": told}, 3) is None


def test_rows_have_pages_only_where_documents_do() -> None:
    span, answer = ScoredSpan(3, 8, "x", 0.5), AnswerSpan(0, 4, "abcd", 0.5, 1)
    plain = DocumentPrediction(id="d", spans=(span,), question="?", answers=(answer,)).to_dict()
    assert plain["spans"] == [{"start": 3, "end": 8, "label": "x", "score": 0.5}]
    assert plain["answers"] == [{"start": 0, "end": 4, "text": "abcd", "score": 0.5, "chunk": 1}]
    paged = DocumentPrediction(
        id="d", spans=with_pages([span], META), question="?", answers=with_pages([answer], META)
    ).to_dict()
    assert paged["spans"] == [{**plain["spans"][0], "page": 1, "last_page": 3}]
    assert paged["answers"] == [{**plain["answers"][0], "page": 1}]


@pytest.mark.parametrize("asked", [False, True])
def test_a_table_has_columns_for_pages_where_a_result_has_one(asked: bool) -> None:
    question, column = ("?", "answers") if asked else (None, "spans")
    results = [
        DocumentPrediction(
            id="d",
            spans=with_pages([ScoredSpan(3, 8, "x", 0.5)], meta),
            question=question,
            answers=with_pages([AnswerSpan(3, 8, "d\f\fef", 0.5, 1)], meta),
        )
        for meta in (META, {})
    ]
    both = to_table(results).column(column).to_pylist()
    assert [(place["page"], place["last_page"]) for (place,) in both] == [(1, 3), (None, None)]
    assert "page" not in to_table(results[1:]).column(column).to_pylist()[0][0]


# ------------------------------------------------------------------------------------------------- from a PDF to rows

PAGES = ["The tenant pays the rent.\nIt is due in May.", "", "Nobody else pays. The end of the\nlease is near."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pdf").write_bytes(pdf(PAGES))
    (tmp_path / "in" / "b.txt").write_text("No pages here. None at all.")
    return tmp_path / "in"


def test_passages_of_a_pdf_name_their_pages_in_every_format(
    folder: Path, tmp_path: Path, tiny_pipeline: Pipeline
) -> None:
    class WithEvidence:
        fingerprint = "tiny+evidence"
        stream = staticmethod(tiny_pipeline.stream_with_evidence)

    out = tmp_path / "out"
    assert run_job([folder], out, WithEvidence, job=JobConfig(evidence=True)).failed == 0
    assert verify_job(out).documents == 2
    (document,) = documents_of(records_of(folder / "a.pdf"))
    export_job(out, tmp_path / "rows.jsonl")
    export_job(out, tmp_path / "rows.parquet")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    stored = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert lines[0]["evidence"]
    for row in (lines[0], stored[0]):
        for passage in row["evidence"]:
            assert passage["page"] == page_at(document.meta, passage["start"])
            last = page_at(document.meta, passage["end"] - 1)
            assert passage.get("last_page") == (None if last == passage["page"] else last)
    assert {passage["page"] for passage in lines[0]["evidence"]} <= {1, 3}
    assert all("page" not in passage for passage in lines[1]["evidence"]), "a text has no pages"
    assert all(passage["page"] is None for passage in stored[1]["evidence"])


def test_a_job_without_pages_has_the_columns_it_always_had(tmp_path: Path) -> None:
    write_documents(tmp_path / "in.jsonl", ["some words"])
    run_job([tmp_path / "in.jsonl"], tmp_path / "out", load_echo)
    plan = json.loads((tmp_path / "out/_plan.json").read_bytes())
    assert "rows.pages" not in plan["settings"]
    assert rows_of(plan["settings"]).schema.field("spans").type.value_type.num_fields == 4


def test_spans_of_a_pdf_name_their_pages(folder: Path) -> None:
    pipe = build_pipeline(load_config(CONFIG, ["model.task=spans", "model.readout={kind: tokens}"]), ("x",))
    (document,) = documents_of(records_of(folder / "a.pdf"))
    result = pipe.predict([document])[0]
    assert isinstance(result, DocumentPrediction)
    assert result.spans, "this random encoder marks something"
    assert all(span.page == page_at(document.meta, span.start) for span in result.spans)
    bare = pipe.predict([Document(id="d", text=document.text)])[0]
    assert [span[:4] for span in bare.spans] == [span[:4] for span in result.spans]
    assert all(span.page is None for span in bare.spans)


def test_a_real_pdf_names_its_pages(shared_folder: Path, tiny_pipeline: Pipeline) -> None:
    file = shared_folder / "data" / "files" / "pdf" / "markitdown--REPAIR-2022-INV-001_multipage.pdf"
    if not file.is_file():
        pytest.skip(f"{file.name} is not among the handed files")
    (document,) = documents_of(records_of(file))
    result = tiny_pipeline.explain(document)
    pages = told_pages(document.meta)
    assert len(pages) > 1
    assert {passage.page for passage in result.evidence} == {
        page.number for page in pages if document.text[page.start : page.end].strip()
    }


# ------------------------------------------------------------------------------------------------------- the report


def item(**fields: Any) -> ExplainedDocument:
    result = DocumentPrediction(id="d", label="x", score=0.5, labels=(LabelScore("x", 0.5),), **fields)
    return ExplainedDocument(result, "abcd\f\fefg", pages=told_pages(META))


def test_the_report_marks_pages_beside_the_text_and_names_them_at_passages() -> None:
    evidence = with_pages([EvidencePassage(0, 4, "x", 1.0), EvidencePassage(4, 9, "x", -1.0)], META)
    page = explanation_page([item(evidence=evidence)])
    marks = ['data-page="p. 1"', 'data-page="p. 3"']
    assert [page.count(mark) for mark in marks] == [1, 1], "an empty page has no mark"
    assert 'title="x: +1.000, page 1">abcd</mark>' in page
    assert 'title="x: -1.000, pages 1 to 3">efg</mark>' in page
    assert page.index(marks[0]) < page.index("abcd</mark>") < page.index(marks[1]) < page.index("efg</mark>")
    assert "attr(data-page)" in page, "drawn by the style sheet, so that it is printed and never copied with the text"


def test_the_report_lists_the_pages_of_spans() -> None:
    page = explanation_page([item(spans=with_pages([ScoredSpan(3, 8, "x", 0.5)], META))])
    assert '<th scope="col">page</th>' in page
    assert "<td>pages 1 to 3</td>" in page
    assert 'title="x, probability 0.500, pages 1 to 3">ef<span' in page
    without = DocumentPrediction(id="d", spans=(ScoredSpan(3, 8, "x", 0.5),))
    bare = explanation_page([ExplainedDocument(without, "abcd\f\fefg")])
    assert "page</th>" not in bare
    assert "data-page=" not in bare


def test_a_text_is_the_same_with_and_without_its_pages() -> None:
    evidence = [[EvidencePassage(2, 8, "x", 1.0)]]
    marked = marked_text("abcd\f\fefg", evidence, pages=(PageSpan(0, 4, 1), PageSpan(6, 9, 3)))
    pieces = [piece for paragraph in marked.paragraphs for piece in paragraph]
    assert "".join(piece.text for piece in pieces) == "abcd\f\fefg"
    assert [(piece.text, piece.page, piece.begins_page) for piece in pieces] == [
        ("ab", 1, True),
        ("cd\f", 1, False),
        ("\f", 1, False),
        ("ef", 3, True),
        ("g", 3, False),
    ]

"""Failures on pages: in words, and a page with nothing but failures holds no text."""

from __future__ import annotations

from longdoc.errors import FAILURE_REASONS
from longdoc.report.failures import FAILURE_WORDS, failure_words
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.index import index_page, index_row
from longdoc.types import DocumentFailure, DocumentPrediction, LabelScore, ScoredSpan

FAILED = DocumentFailure("a.txt", "decode_error", "tokenize", detail="Set `read.encoding`, for example to `cp1252`.")


def test_every_reason_has_words_of_its_own() -> None:
    assert set(FAILURE_WORDS) == set(FAILURE_REASONS)
    assert len(set(FAILURE_WORDS.values())) == len(FAILURE_REASONS)
    assert not any("_" in words for words in FAILURE_WORDS.values())


def test_failures_are_said_in_words_on_the_page_and_in_the_index() -> None:
    told = failure_words(FAILED)
    assert (told.reason, told.stage) == ("characters that could not be decoded", "cutting it into tokens")
    detail = "Set \u201cread.encoding\u201d, for example to \u201ccp1252\u201d."
    page = explanation_page([ExplainedDocument(FAILED, "")])
    index = index_page([index_row(FAILED, None)])
    for html in (page, index):
        body = html.partition("<body>")[2].partition("<script>")[0]
        assert told.reason in body
        assert detail in body
        assert "decode_error" not in body
        assert "`" not in body
    assert "Without an answer: 1 (characters that could not be decoded)." in index


def test_the_last_line_says_how_private_a_page_is() -> None:
    spans = ExplainedDocument(DocumentPrediction("d", spans=(ScoredSpan(0, 4, "CITY", 0.5),)), "York")
    failed = ExplainedDocument(FAILED, "")
    assert "the text of the document: it is as private as that is." in explanation_page([spans, failed])
    assert "the text of the documents: it is as private as they are." in explanation_page([spans, spans])
    alone = explanation_page([failed])
    assert "This file holds no text of a document; names may be private." in alone
    assert "Scores are estimates" not in alone


def test_where_no_place_is_found_page_and_index_say_that() -> None:
    nothing = DocumentPrediction("d", n_tokens=3, tokens_read=3, n_chunks=1)
    page = explanation_page([ExplainedDocument(nothing, "York")])
    assert "No place was found in this document." in page
    assert "No evidence was computed" not in page
    labelled = DocumentPrediction("d", "lease", 0.9, (LabelScore("lease", 0.9),))
    assert "No evidence was computed" in explanation_page([ExplainedDocument(labelled, "York")])
    assert '<div class="body plain">' in page
    index = index_page([index_row(nothing, "1.html")])
    assert "<bdi>no place</bdi>" in index


def test_a_column_of_scores_stands_only_where_there_are_some() -> None:
    number = DocumentPrediction("d", value=1.5)
    asked = DocumentPrediction("d", question="When?", answer="May", score=0.5)
    for results, columns in (([number, number], 0), ([number, asked], 1)):
        rows = [index_row(result, "1.html") for result in results]
        assert index_page(rows).count('data-sort="number">score<') == columns
        pages = explanation_page([ExplainedDocument(result, "text") for result in results])
        assert pages.count(">score</th>") == columns
    assert '<td class="number">0.500</td>' in pages

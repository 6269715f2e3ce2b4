"""Answers on the page of explanations: the question, the place in the text, the chunk."""

from __future__ import annotations

from answer_kit import toy
from longdoc.evidence import chunks_of_result
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.types import Document, DocumentPrediction


def page(text: str, question: str = "who & <when>") -> str:
    pipeline = toy(14, 3)
    document = Document("d", text, question=question)
    result = pipeline.explain(document)
    assert isinstance(result, DocumentPrediction)
    chunks = chunks_of_result(document, result, pipeline.tokenizer, pipeline.chunker)
    return explanation_page([ExplainedDocument(result, document.text, chunks)])


def test_the_answer_is_drawn_where_it_stands() -> None:
    shown = page("out b1 e1 out out out out out out b2 e2 out")
    assert "question: <bdi>who &amp; &lt;when&gt;</bdi>" in shown
    assert "<h2><bdi>d</bdi>: <bdi>b2 e2</bdi></h2>" in shown
    assert ">b2 e2</mark><sup><bdi>answer</bdi></sup>" in shown
    assert '<td class="number">34 to 39</td>' in shown
    assert '<td class="number">2</td></tr>' in shown, "the chunk that it was found in, behind the question"


def test_no_answer_is_said() -> None:
    shown = page("out out out")
    assert "<h2><bdi>d</bdi>: <bdi>no answer</bdi></h2>" in shown
    assert "No place in the text answers the question." in shown
    assert '<mark class="span' not in shown

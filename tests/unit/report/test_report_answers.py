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
    assert "Question: <bdi>who &amp; &lt;when&gt;</bdi>" in shown
    assert '<p class="answer">The answer is <strong><bdi>b2 e2</bdi></strong>, with a probability of' in shown
    assert '>b2 e2<span class="badge" data-label="answer"></span></mark>' in shown
    assert '<td class="number">34 to 39</td>' in shown
    assert '<td class="number">2</td></tr>' in shown, "the chunk that it was found in, behind the question"
    assert "<h3>What else was considered</h3>" in shown


def test_no_answer_is_said() -> None:
    shown = page("out out out")
    assert '<p class="answer">The text does not answer the question.</p>' in shown
    assert "more than any single place in the text has: the most probable place has" in shown
    assert "<h3>The most probable places</h3>" in shown
    assert "<h3>Labels</h3>" not in shown, "there are none"
    assert '<mark class="span' not in shown

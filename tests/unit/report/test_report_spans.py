"""Spans in the text and as rows: hostile names stay text, and each label has its colour."""

from __future__ import annotations

from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.spans import COLOURS, found_spans, label_colours
from longdoc.types import DocumentPrediction, ScoredSpan


def test_the_table_says_where_and_in_which_chunk() -> None:
    spans = (ScoredSpan(3, 6, "CITY", 0.75), ScoredSpan(7, 9, "<b>", 0.5))
    rows = found_spans("to Rome <i", spans, (1, 2))
    assert [(row.number, row.text, row.chunk) for row in rows] == [(1, "Rom", 1), (2, " <", 2)]
    assert [row.chunk for row in found_spans("to Rome <i", spans, ())] == [None, None]
    page = explanation_page([ExplainedDocument(DocumentPrediction("d", spans=spans), "to Rome <i", (1, 2))])
    assert '<td class="number">3 to 6</td><td class="number">0.750</td>\n<td class="number">1</td>' in page
    assert '<span class="badge" data-label="CITY"></span>' in page
    assert "<b>" not in page
    assert "2 places are marked: <strong><bdi>&lt;b&gt;</bdi></strong>, <strong><bdi>CITY</bdi></strong>." in page
    assert "No evidence" not in page


def test_a_span_within_another_is_named_first_and_points_to_both() -> None:
    spans = (ScoredSpan(0, 7, "ADDRESS", 0.5), ScoredSpan(3, 7, "CITY", 0.25))
    page = explanation_page([ExplainedDocument(DocumentPrediction("d", spans=spans), "12 York", (1, 1))])
    drawn = page.partition('aria-label="Text of the document">')[2].partition('<div class="strip">')[0]
    assert drawn == (
        '<div dir="auto"><span id="d1s1"></span>'
        '<mark class="span colour-0" data-s="0" title="ADDRESS, probability 0.500, chunk 1">12 </mark>'
        '<span id="d1s2"></span><mark class="span colour-1 nested" data-s="1 0" '
        'title="CITY, probability 0.250, chunk 1; ADDRESS, probability 0.500, chunk 1">York'
        '<span class="badge" data-label="CITY"></span><span class="badge" data-label="ADDRESS"></span></mark>'
        "</div></div>\n"
    )


def test_labels_take_the_colours_in_turn() -> None:
    names = [f"label {number}" for number in range(COLOURS + 2)]
    spans = [ScoredSpan(0, 1, name, 0.5) for name in reversed(names)] + [ScoredSpan(2, 3, "label 1", 0.5)]
    legend = label_colours(spans)
    assert [each.label for each in legend] == names
    assert [each.colour for each in legend] == [*range(COLOURS), 0, 1]
    assert [each.count for each in legend] == [1, 2, *[1] * COLOURS]

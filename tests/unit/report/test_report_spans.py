"""Spans as runs of text and as rows: nothing of the text is lost, and hostile names stay text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.spans import found_spans, span_runs
from longdoc.types import DocumentPrediction, ScoredSpan


@settings(max_examples=50, deadline=None)
@given(
    st.text("ab <\r", min_size=12, max_size=12),
    st.lists(
        st.tuples(st.integers(0, 11), st.integers(1, 12), st.sampled_from("XYZ")).filter(lambda s: s[0] < s[1]),
        max_size=5,
    ),
)
def test_runs_are_the_text_and_name_what_is_over_them(text: str, places: list[tuple[int, int, str]]) -> None:
    spans = [ScoredSpan(start, end, label, 0.5) for start, end, label in sorted(places)]
    runs = span_runs(text, spans)
    assert "".join(run.text for run in runs) == text
    assert sorted(label for run in runs for label in run.ends) == sorted(span.label for span in spans)
    position = 0
    for run in runs:
        over = [span for span in spans if span.start <= position < span.end]
        assert sorted(run.names.split(", ") if run.names else []) == sorted(f"{span.label} 0.500" for span in over)
        position += len(run.text)


def test_the_table_says_where_and_in_which_chunk() -> None:
    spans = (ScoredSpan(3, 6, "CITY", 0.75), ScoredSpan(7, 9, "<b>", 0.5))
    rows = found_spans("to Rome <i", spans, (1, 2))
    assert [(row.number, row.text, row.chunk) for row in rows] == [(1, "Rom", 1), (2, " <", 2)]
    assert [row.chunk for row in found_spans("to Rome <i", spans, ())] == [None, None]
    page = explanation_page([ExplainedDocument(DocumentPrediction("d", spans=spans), "to Rome <i", (1, 2))])
    assert '<td class="number">3 to 6</td><td class="number">0.750</td>\n<td class="number">1</td>' in page
    assert "<sup><bdi>CITY</bdi></sup>" in page
    assert "<b>" not in page
    assert "&lt;b&gt; (1), CITY (1)" in page
    assert "No evidence" not in page

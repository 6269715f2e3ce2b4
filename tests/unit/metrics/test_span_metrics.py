"""Metrics of spans against seqeval and nervaluate, and where those have no answer, by hand."""

from __future__ import annotations

import itertools
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score

from longdoc.metrics.spans import MODES, match_spans, span_metrics

LABELS = ("A", "B", "C")
WORDS = 12


@st.composite
def sets_of_spans(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Spans of a text of twelve words that do not overlap, as a tagger gives them."""
    edges = sorted(draw(st.sets(st.integers(0, WORDS), max_size=8)))
    spans = []
    for start, end in itertools.pairwise(edges):
        if draw(st.booleans()):
            spans.append((start, end, draw(st.sampled_from(LABELS))))
    return spans


documents = st.lists(st.tuples(sets_of_spans(), sets_of_spans()), min_size=1, max_size=4)


def as_tags(spans: list[tuple[int, int, str]]) -> list[str]:
    tags = ["O"] * WORDS
    for start, end, label in spans:
        tags[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return tags


@settings(max_examples=60, deadline=None)
@given(documents)
def test_strict_is_what_seqeval_counts(given: list) -> None:
    gold, predicted = [g for g, _ in given], [p for _, p in given]
    measured = span_metrics(gold, predicted, LABELS, resamples=0)
    theirs = [as_tags(g) for g in gold], [as_tags(p) for p in predicted]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it puts 0 for what is undefined
        for name, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            assert (measured[f"strict_{name}"] or 0.0) == pytest.approx(float(score(*theirs)), abs=1e-12)
        for row in measured["per_label"]:
            mine = (
                [[s for s in part if s[2] == row["label"]] for part in gold],
                [[s for s in part if s[2] == row["label"]] for part in predicted],
            )
            single = [as_tags(g) for g in mine[0]], [as_tags(p) for p in mine[1]]
            assert (row["f1"] or 0.0) == pytest.approx(float(f1_score(*single)), abs=1e-12)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="nervaluate has no release for Python 3.10")
@settings(max_examples=60, deadline=None)
@given(documents)
def test_the_four_ways_count_as_nervaluate_does(given: list) -> None:
    from nervaluate import Evaluator

    gold, predicted = [g for g, _ in given], [p for _, p in given]

    def theirs(part: list) -> list:  # their ends are inclusive
        return [[{"start": s, "end": e - 1, "label": label} for s, e, label in spans] for spans in part]

    results = Evaluator(theirs(gold), theirs(predicted), tags=list(LABELS), loader="dict").evaluate()
    measured = span_metrics(gold, predicted, LABELS, resamples=0)
    rows = {row["label"]: row for row in measured["per_label"]}
    for mode in MODES:
        name = {"type": "ent_type"}.get(mode, mode)
        expected = results["overall"][name]
        counts = [match_spans(g, p)[mode] for g, p in zip(gold, predicted, strict=True)]
        if mode == "type" and any(rivals(g, p) for g, p in zip(gold, predicted, strict=True)):
            # They let the first span in the text have a gold span, even where only the second has its label.
            assert sum(count.correct for count in counts) >= expected.correct
            continue
        for field in ("correct", "incorrect", "partial", "missed", "spurious"):
            assert sum(getattr(count, field) for count in counts) == getattr(expected, field), (mode, field)
        assert (measured[f"{mode}_f1"] or 0.0) == pytest.approx(expected.f1, abs=1e-12)
        for label, entity in results["entities"].items():
            key = "f1" if mode == "strict" else f"{mode}_f1"
            assert (rows[label][key] or 0.0) == pytest.approx(entity[name].f1, abs=1e-12)


def rivals(gold: list, predicted: list) -> bool:
    """Whether several predicted spans overlap one gold span."""
    return any(sum(p[0] < end and p[1] > start for p in predicted) > 1 for start, end, _ in gold)


def test_each_gold_span_is_met_once_the_same_ends_first() -> None:
    gold = [(0, 10, "A")]
    counts = match_spans(gold, [(0, 4, "A"), (0, 10, "A"), (5, 10, "A")])  # layers may overlap
    assert {mode: tuple(count) for mode, count in counts.items()} == dict.fromkeys(MODES, (1, 0, 0, 0, 2))
    counts = match_spans(gold, [(0, 4, "B"), (0, 10, "B")])
    assert counts["strict"] == (0, 1, 0, 0, 1)
    assert counts["exact"] == (1, 0, 0, 0, 1)
    assert counts["partial"] == (1, 0, 0, 0, 1)
    assert counts["type"] == (0, 1, 0, 0, 1)


def test_half_counts_for_partial_and_edges_that_only_touch_do_not_overlap() -> None:
    measured = span_metrics([[(0, 5, "A"), (6, 9, "B")]], [[(0, 4, "A"), (9, 12, "B")]], LABELS, resamples=0)
    assert measured["partial_precision"] == 0.25
    assert measured["partial_recall"] == 0.25
    assert measured["type_f1"] == 0.5
    assert measured["strict_f1"] == measured["exact_f1"] == 0.0


def test_macro_is_over_labels_of_the_gold_and_undefined_is_none() -> None:
    measured = span_metrics([[(0, 1, "A")], []], [[(0, 1, "A")], [(3, 4, "B")]], LABELS, resamples=0)
    assert (measured["macro_strict_f1"], measured["strict_precision"]) == (1.0, 0.5)
    assert [row["recall"] for row in measured["per_label"]] == [1.0, None, None]
    nothing = span_metrics([[]], [[]], LABELS, resamples=0)
    assert nothing["strict_f1"] is nothing["strict_precision"] is nothing["macro_type_f1"] is None
    assert (nothing["gold_spans"], nothing["predicted_spans"]) == (0, 0)


def test_intervals_are_over_documents_and_hold_the_measure() -> None:
    gold = [[(0, 2, "A"), (4, 6, "B")] for _ in range(30)]
    predicted = [[(0, 2, "A")] if number % 2 else [(0, 2, "A"), (4, 6, "B")] for number in range(30)]
    measured = span_metrics(gold, predicted, LABELS, resamples=400)
    assert set(measured["intervals"]) == {
        *(f"{mode}_{name}" for mode in MODES for name in ("precision", "recall", "f1")),
        *(f"macro_{mode}_f1" for mode in MODES),
    }
    low, high = measured["intervals"]["strict_recall"]
    assert low < measured["strict_recall"] == 0.75 < high
    assert measured["intervals"]["strict_precision"] is None, "all right in every resample"
    assert measured["per_label"][0]["f1_interval"] is None
    assert span_metrics(gold[:9], predicted[:9], LABELS)["intervals"]["strict_recall"] is None

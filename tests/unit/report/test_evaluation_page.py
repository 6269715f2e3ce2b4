"""The report of an evaluation: its numbers against slow loops, its page inert, told in words, without any text."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from longdoc.decide import Decisions
from longdoc.metrics.answers import answer_metrics
from longdoc.metrics.classification import classification_metrics
from longdoc.metrics.neighbours import neighbour_metrics
from longdoc.metrics.ordinal import ordinal_metrics
from longdoc.metrics.regression import regression_metrics
from longdoc.metrics.spans import span_metrics
from longdoc.report.evaluation_page import evaluation_page
from longdoc.report.evaluation_words import calibration_words, documents_words, interval_words
from longdoc.report.figures import thresholds_figure
from longdoc.report.findings import Group, ThresholdRow, evaluation_findings, evidence_strip, loudest_place
from longdoc.report.measure_words import MEANINGS
from longdoc.tasks import TASKS, Task, task_named
from longdoc.types import (
    Document,
    DocumentFailure,
    DocumentPrediction,
    DocumentResult,
    EvidencePassage,
    LabelledSpan,
    ScoredSpan,
)

HOSTILE = '"><img src=x onerror=alert(1)>'
LABELS = ("lease", HOSTILE, "never")
SECRET = "CANARY in the text"


class Page(HTMLParser):
    """Tags, attributes and words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def labelled(count: int = 40) -> tuple[list[Document], list[DocumentResult]]:
    """Documents of one to `count` tokens; the longer, the worse the answers. One has none."""
    task, random = task_named("single_label"), np.random.default_rng(3)
    documents, results = [], []
    for number in range(count):
        right = number % 2
        scores = random.normal(size=3) * 0.1
        scores[right if number < count // 2 else 1 - right] += 2
        documents.append(Document(id=f"id-{number}", text=SECRET, label=LABELS[right]))
        answer = task.answer(scores, LABELS, Decisions())
        results.append(DocumentPrediction(id=f"id-{number}", n_tokens=number + 1, tokens_read=number + 1, **answer))
    results[4] = DocumentFailure(id="id-4", reason="timeout", n_tokens=5)
    return documents, results


def measured(documents: list[Document], results: list[DocumentResult], name: str, labels: Any) -> dict[str, Any]:
    return task_named(name).metrics(documents, results, labels, Decisions(), resamples=50)


@pytest.fixture(scope="module")
def found() -> Any:
    documents, results = labelled()
    return documents, results, evaluation_findings(task_named("single_label"), documents, results, LABELS)


def test_scores_by_length_are_means_of_documents_in_the_order_of_their_lengths(found: Any) -> None:
    documents, results, findings = found
    right = [isinstance(r, DocumentPrediction) and r.label == d.label for d, r in zip(documents, results, strict=True)]
    expected = [
        (f"{10 * n + 1} to {10 * n + 10}", 10, sum(right[10 * n : 10 * n + 10]) / 10) for n in range(4)
    ]  # fmt: skip
    assert [(group.name, group.items, group.mean) for group in findings.by_length] == expected
    assert findings.by_length[0].mean == 9 / 10, "the document without an answer counts as wrong"
    for group in findings.by_length:
        if group.mean in (0, 1):
            assert (group.low, group.high) == (None, None), "all of them are alike"
        else:
            assert group.low <= group.mean <= group.high
    assert findings.overall.items == 40
    assert findings.overall.mean == pytest.approx(sum(right) / 40)


def test_equal_lengths_are_one_group() -> None:
    documents, results = labelled(20)
    same = [DocumentPrediction(id=r.id, n_tokens=7, labels=r.labels, label=r.label) for r in results if r.ok]
    kept = [d for d, r in zip(documents, results, strict=True) if r.ok]
    (group,) = evaluation_findings(task_named("single_label"), kept, same, LABELS).by_length
    assert (group.name, group.items) == ("7", 19)


def test_thresholds_count_what_is_given_and_right(found: Any) -> None:
    documents, results, findings = found
    answers = [
        (result.labels[0].score, result.label == document.label)
        for document, result in zip(documents, results, strict=True)
        if isinstance(result, DocumentPrediction)
    ]
    for row in findings.thresholds:
        given = [right for score, right in answers if score >= row.threshold]
        assert row.given == len(given)
        assert row.precision == (sum(given) / len(given) if given else None)
        assert row.recall == sum(given) / len(documents)
    assert [row.threshold for row in findings.thresholds] == [step / 20 for step in range(20)]


def test_the_most_surprising_errors_come_first_and_are_errors(found: Any) -> None:
    documents, results, findings = found
    assert len(findings.surprises) == 10
    chances = []
    for each in findings.surprises:
        result = results[each.number]
        assert isinstance(result, DocumentPrediction)
        assert result.label != documents[each.number].label
        chances.append({item.label: item.score for item in result.labels}[documents[each.number].label])
    assert chances == sorted(chances)


def test_places_of_evidence_are_those_of_the_loudest_passage_for_the_answer() -> None:
    document = Document(id="d", text="x" * 100, label="lease")
    passages = (
        EvidencePassage(0, 20, "lease", 0.5),
        EvidencePassage(60, 80, "lease", 0.9),
        EvidencePassage(80, 100, "lease", -3.0),
        EvidencePassage(0, 20, "never", 9.0),
    )
    best = task_named("single_label").answer(np.array([3.0, 0.0, 1.0]), LABELS, Decisions())
    prediction = DocumentPrediction(id="d", n_tokens=50, evidence=passages, **best)
    assert loudest_place(document, prediction) == 0.7
    assert evidence_strip(document, prediction) == ((0.0, 0.2, 0.5), (0.6, 0.8, 0.9), (0.8, 1.0, -3.0))
    findings = evaluation_findings(task_named("single_label"), [document], [prediction], LABELS, [(0, prediction)])
    assert findings.places_are == "evidence"
    assert [group.items for group in findings.by_place] == [0, 0, 0, 1, 0]
    nothing = DocumentPrediction(id="d", n_tokens=50, **best)
    assert loudest_place(document, nothing) is None


def test_places_of_gold_spans_count_each_span() -> None:
    spans = tuple(LabelledSpan(start, start + 4, "lease") for start in (0, 10, 95))
    document = Document(id="d", text="x" * 100, spans=spans)
    result = DocumentPrediction(id="d", n_tokens=9, spans=(ScoredSpan(10, 14, "lease", 0.9),))
    findings = evaluation_findings(task_named("spans"), [document], [result], LABELS)
    assert findings.places_are == "gold"
    assert [group.items for group in findings.by_place] == [2, 0, 0, 0, 1]
    assert [group.mean for group in findings.by_place] == [0.5, None, None, None, 0.0]


def test_the_page_is_inert_holds_no_text_and_says_what_it_shows(found: Any) -> None:
    documents, results, findings = found
    html = evaluation_page(measured(documents, results, "single_label", LABELS), findings, "accuracy")
    page = Page(html)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "style")]
    assert not [value for name, value in page.attributes if name == "href"]
    policy = dict(page.attributes[:5])["content"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert HOSTILE in page.words
    assert "CANARY" not in html
    assert "40 labelled documents; 1 of them is without an answer. The mean accuracy is" in page.words
    assert "lease taken for" in re.sub(r"\s+", " ", page.words)
    described = [value for name, value in page.attributes if name == "aria-label"]
    assert any(value and value.startswith("Reliability diagram. The model is") for value in described)
    assert page.tags.count("svg") == sum(
        pair == ("role", "img") or pair == ("aria-hidden", "true") for pair in page.attributes
    )
    assert "Texts are not shown" in page.words
    assert len(html) < 200_000


def test_a_label_is_too_few_by_the_documents_that_hold_it_and_those_that_are_given_it_together() -> None:
    """Six hold it and four others are given it: ten, where neither alone would be enough."""
    gold = np.array([0] * 6 + [1] * 24)
    predicted = np.array([0] * 2 + [1] * 4 + [0] * 4 + [1] * 20)
    for given, interval in ((predicted, True), (np.where(gold == 1, 1, predicted), False)):
        metrics = classification_metrics(gold, given, np.eye(2)[given], ["a", "b"], False, resamples=50)
        assert (metrics["per_label"][0]["f1_interval"] is not None) == interval
    documents, results = labelled(7)
    findings = evaluation_findings(task_named("single_label"), documents, results, LABELS)
    page = Page(evaluation_page(measured(documents, results, "single_label", LABELS), findings, "accuracy"))
    assert (
        "the documents that hold the label and those that are given it are fewer than 10 together, or all of them are "
        "alike, so its F1 says little."
    ) in page.words


def test_errors_without_evidence_have_no_column_for_it_and_no_legend() -> None:
    """Spans and answers say themselves where they stand: the column was empty in every row."""
    document = Document(id="d", text=SECRET, spans=(LabelledSpan(0, 4, "lease"),))
    result = DocumentPrediction(id="d", n_tokens=9, spans=(ScoredSpan(10, 14, "lease", 0.9),))
    task = task_named("spans")
    findings = evaluation_findings(task, [document], [result], LABELS)
    metrics = measured([document], [result], "spans", LABELS)
    words = Page(evaluation_page(metrics, findings, task.outcome_name)).words
    assert "The most surprising errors" in words
    assert "evidence, from the beginning of the text to its end" not in words
    assert "Above the line" not in words
    assert "--texts writes a page with the text of each." in words
    worst = tuple(replace(each, strip=((0.0, 0.2, 0.5),)) for each in findings.surprises)
    html = evaluation_page(metrics, replace(findings, surprises=worst), task.outcome_name)
    assert "evidence, from the beginning of the text to its end" in Page(html).words
    assert "Above the line: speaks for the answer. Below: speaks against it." in Page(html).words
    assert "--texts writes a page with the evidence of each." in Page(html).words


def test_links_lead_to_the_pages_of_the_errors(found: Any) -> None:
    documents, results, findings = found
    links = [f"errors/{n:02d}.html" for n in range(1, 11)]
    html = evaluation_page(measured(documents, results, "single_label", LABELS), findings, "accuracy", links=links)
    assert [value for name, value in Page(html).attributes if name == "href"] == links


def test_more_labels_than_a_table_can_show_are_listed_by_their_confusions() -> None:
    names = tuple(f"label {n}" for n in range(40))
    task = task_named("single_label")
    documents = [Document(id=str(n), text=SECRET, label=names[n]) for n in range(40)]
    results: list[DocumentResult] = [
        DocumentPrediction(
            id=str(n), n_tokens=n, **task.answer(np.eye(40)[(n + (n == 3)) % 40] * 9, names, Decisions())
        )
        for n in range(40)
    ]
    findings = evaluation_findings(task, documents, results, names)
    page = Page(evaluation_page(measured(documents, results, "single_label", names), findings, "accuracy"))
    assert "confusion" not in [value for name, value in page.attributes if name == "class"]
    assert "label 3 taken for label 4: 1 of 1" in page.words


def test_a_regression_has_no_confusion_and_errors_in_its_own_unit() -> None:
    documents = [Document(id=str(n), text=SECRET, target=float(n)) for n in range(10)]
    results: list[DocumentResult] = [
        DocumentPrediction(id=str(n), n_tokens=n + 1, value=2.0 * n, logits=(2.0 * n,)) for n in range(10)
    ]
    task = task_named("regression")
    findings = evaluation_findings(task, documents, results, ("size",))
    worst = tuple(replace(each, strip=((0.0, 0.2, 0.5),)) for each in findings.surprises)
    findings = replace(findings, surprises=worst)
    html = evaluation_page(measured(documents, results, "regression", ("size",)), findings, task.outcome_name)
    page = Page(html)
    assert "The mean absolute error is 4.500" in page.words
    assert "taken for" not in page.words
    assert "What if only surer answers were given?" not in page.words
    assert findings.surprises[0].outcome.said == "18"
    assert [each.id for each in findings.surprises] == [str(n) for n in range(9, 0, -1)], "0 is right"
    words = re.sub(r"\s+", " ", page.words)
    assert "The largest errors The answers that are farthest from the right number." in words
    assert "off by" in words
    assert '<bdi>18</bdi></td><td class="number">9</td><td class="number">10</td>' in html, "answer, off by, tokens"
    assert "Above the line: raises the number. Below: lowers it." in words
    assert not re.search("surest|surprising|speaks", words)
    right = [replace(each, value=float(each.id), logits=(float(each.id),)) for each in results]
    findings = evaluation_findings(task, documents, right, ("size",))
    page = Page(evaluation_page(measured(documents, right, "regression", ("size",)), findings, task.outcome_name))
    assert "There are none: every answer is right within rounding." in page.words


def test_all_right_is_said(found: Any) -> None:
    documents, results, _ = found
    right = [(d, r) for d, r in zip(documents, results, strict=True) if r.ok and r.label == d.label]
    kept, answers = [d for d, _ in right], [r for _, r in right]
    findings = evaluation_findings(task_named("single_label"), kept, answers, LABELS)
    page = Page(evaluation_page(measured(kept, answers, "single_label", LABELS), findings, "accuracy"))
    assert "There are none: every answer is right." in page.words
    assert "No label was taken for another." in page.words


def test_too_few_documents_are_said_in_words_and_not_as_an_interval() -> None:
    documents, results = labelled(7)
    task = task_named("single_label")
    findings = evaluation_findings(task, documents, results, LABELS)
    metrics = measured(documents, results, "single_label", LABELS)
    page = evaluation_page(metrics, findings, task.outcome_name)
    assert (findings.overall.low, findings.by_length[0].low) == (None, None)
    assert set(metrics["intervals"].values()) == {None}
    assert "95 % interval " not in page.split("<h2", 1)[0], "the summary states none"
    assert page.count('<td class="number">too few</td>') == len(metrics["intervals"]) + sum(
        row["f1"] is not None for row in metrics["per_label"]
    ) + sum(group.mean is not None for group in (*findings.by_length, *findings.by_place))
    assert "fewer than 10 documents stand behind the measure" in page


def rows_of_two(confidence: float, accuracy: float) -> list[dict[str, Any]]:
    return [{"pairs": 3, "confidence": confidence, "accuracy": accuracy}, {"pairs": 1, "confidence": 1, "accuracy": 1}]


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        (0.5, "on the whole too modest: it is right more often than it says. Its mean confidence is 0.625, and "),
        (0.9, "on the whole too sure. Its mean confidence is 0.925, and the share that comes true is 0.775; range"),
        (0.71, "on the whole as sure as it should be, as far as 100 documents can tell. Its"),
    ],
)
def test_too_sure_and_too_modest_are_told_apart(confidence: float, said: str) -> None:
    assert said in calibration_words(rows_of_two(confidence, 0.7), 0.15, 100)


def test_a_difference_that_may_be_chance_is_no_verdict() -> None:
    """Two standard errors of 0.367 are 0.176 with 30 documents, and 0.0176 with 3,000."""
    row = {"confidence": 0.391, "accuracy": 0.367}
    assert calibration_words([row | {"pairs": 30}], 0.024, 30) == (
        "The model is on the whole neither clearly too sure nor clearly too modest: with 30 documents the difference "
        "may be chance. Its mean confidence is 0.391, and the share that comes true is 0.367; range by range, the two "
        "differ by 0.024 (expected calibration error)."
    )
    assert "on the whole too sure." in calibration_words([row | {"pairs": 3000}], 0.024, 3000)
    assert "may be chance" in calibration_words([row | {"pairs": 3000}], 0.024, 30), "pairs of a document count once"


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_right_or_all_wrong_may_be_chance_too(share: float) -> None:
    """Of 30 answers that are right with probability 0.95, all are right once in five times."""
    row = {"confidence": 0.95 if share else 0.05, "accuracy": share}
    assert "may be chance" in calibration_words([row | {"pairs": 30}], 0.05, 30)
    assert "may be chance" not in calibration_words([row | {"pairs": 300}], 0.05, 300)


def test_no_verdict_comes_from_few_documents() -> None:
    """Of one document it said: on the whole surer than it says, and 1.000 of it comes true."""
    assert calibration_words(rows_of_two(0.9, 0.7), 0.15, 9) == (
        "9 answered documents are too few to say whether the model is too sure or too modest. The mean confidence is "
        "0.925, and the share that comes true is 0.775."
    )
    documents, results = labelled(7)
    findings = evaluation_findings(task_named("single_label"), documents, results, LABELS)
    page = Page(evaluation_page(measured(documents, results, "single_label", LABELS), findings, "accuracy"))
    assert "6 answered documents are too few to say whether" in page.words
    assert "on the whole" not in page.words


@pytest.mark.parametrize(
    ("documents", "unanswered", "said"),
    [
        (1, 0, "1 labelled document; it is answered."),
        (1, 1, "1 labelled document; it is without an answer."),
        (2, 0, "2 labelled documents; all of them are answered."),
        (3, 1, "3 labelled documents; 1 of them is without an answer."),
        (3, 2, "3 labelled documents; 2 of them are without an answer."),
    ],
)
def test_documents_without_an_answer_are_counted_in_words(documents: int, unanswered: int, said: str) -> None:
    assert documents_words(documents, unanswered) == said


def test_captions_promise_no_interval_that_is_not_drawn() -> None:
    drawn, without, empty = Group("a", 20, 0.5, 0.4, 0.6), Group("b", 3, 0.5), Group("c", 0, None)
    assert interval_words([drawn, empty]) == ", with 95 % intervals"
    assert interval_words([drawn, without]) == ", with 95 % intervals where documents are enough and differ"
    assert interval_words([without, empty]) == "; no intervals, since documents are too few or all alike"
    documents, results = labelled(7)
    findings = evaluation_findings(task_named("single_label"), documents, results, LABELS)
    page = evaluation_page(measured(documents, results, "single_label", LABELS), findings, "accuracy")
    assert "with 95 % intervals" not in page
    assert "lines through them" not in page


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_captions_are_english_whatever_a_score_is(task: Task) -> None:
    """There was: Mean strict F1 of a document's spans of documents by their length."""
    documents, results = labelled(40)
    findings = evaluation_findings(task_named("single_label"), documents, results, LABELS)
    page = Page(evaluation_page(measured(documents, results, "single_label", LABELS), findings, task.outcome_name))
    assert f"Mean {task.outcome_name}, by the length of the document in tokens, with" in page.words


def test_every_measure_is_explained() -> None:
    """Seven of the spans' were not."""
    found = [
        span_metrics([[(0, 1, "a")]], [[(0, 1, "a")]], ["a"], resamples=0),
        answer_metrics([["x"], []], ["x", None], resamples=0),
        regression_metrics([1.0, 2.0], [1.0, 2.0], resamples=0),
        ordinal_metrics([0, 1], [0, 1], resamples=0),
        neighbour_metrics(np.eye(2), ["a", "a"], resamples=0),
        classification_metrics([0, 1], [0, 1], np.eye(2), ["a", "b"], False, resamples=0),
        classification_metrics(np.eye(2), np.eye(2), np.eye(2), ["a", "b"], True, resamples=0),
    ]
    names = {name for metrics in found for name, value in metrics.items() if isinstance(value, float)}
    assert {"macro_partial_f1", "no_answer_accuracy", "pearson", "recall_at_10", "sample_f1"} <= names
    assert sorted(names - set(MEANINGS)) == []


def test_columns_of_spans_say_where_they_are_from() -> None:
    spans = (LabelledSpan(0, 4, "lease"),)
    document = Document(id="d", text="x" * 100, spans=spans)
    result = DocumentPrediction(id="d", n_tokens=9, spans=(ScoredSpan(10, 14, "lease", 0.9),))
    task = task_named("spans")
    findings = evaluation_findings(task, [document], [result], ("lease",))
    html = evaluation_page(measured([document], [result], "spans", ("lease",)), findings, task.outcome_name)
    headings = re.findall(r"<th scope=.col.[^>]*>([^<]*)</th>", html)
    assert headings[4:8] == ["label", "spans in the data", "spans given", "precision"]


def test_what_speaks_against_a_higher_grade_speaks_for_the_lowest() -> None:
    document = Document(id="d", text="x" * 100, label="low")
    best = task_named("ordinal").answer(np.array([-3.0, -5.0]), ("low", "mid", "high"), Decisions())
    passages = (EvidencePassage(0, 20, "mid", 0.5), EvidencePassage(60, 80, "mid", -0.9))
    prediction = DocumentPrediction(id="d", n_tokens=50, evidence=passages, **best)
    assert prediction.label == "low"
    assert loudest_place(document, prediction) == 0.7
    assert evidence_strip(document, prediction) == ((0.0, 0.2, -0.5), (0.6, 0.8, 0.9))


def test_names_of_the_lines_stand_apart_and_above_the_axis() -> None:
    """At the ends of lines that fall to zero they crossed the numbers below the axis."""
    rows = [ThresholdRow(step / 20, 5, 0.5, 0.5 - step / 40, 0.5 - step / 40) for step in range(20)]
    for ends in (rows, [replace(row, precision=0.0, recall=0.0, f1=0.0) for row in rows]):
        drawn = str(thresholds_figure(ends, "title"))
        heights = [float(y) for y in re.findall(r'class="line \w+" d="M[\d.]+ ([\d.]+)h26"', drawn)]
        assert len(heights) == 3
        assert max(heights) <= 220
        assert all(low - high >= 16 for high, low in itertools.pairwise(heights))

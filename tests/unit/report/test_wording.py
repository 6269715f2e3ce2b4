"""What the page says of a score: for a label or against it, a higher grade or a lower one, more or less of a number."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from longdoc.decide import Decisions
from longdoc.report.conclusion import Rule, conclusion_of
from longdoc.report.explaining import rule_of
from longdoc.report.findings import evidence_strip, loudest_place
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.tasks import task_named
from longdoc.types import Document, DocumentPrediction, EvidencePassage, LabelScore, Occlusion

GRADES = ("minor", "moderate", "serious", "critical")
TEXT = "aa. bb. cc."


def words(page: str) -> str:
    """What stands on the page, without markup."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", page.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", "", body).split())


def graded(chances: dict[str, float], evidence: dict[str, tuple[float, ...]]) -> DocumentPrediction:
    """Labels as they are told, best first, and the weights of the passages of each score."""
    passages = tuple(
        EvidencePassage(
            4 * place, 4 * place + 3, label, weight, occlusion=Occlusion(weight, weight, True) if place == 1 else None
        )
        for label, weights in evidence.items()
        for place, weight in enumerate(weights)
    )
    labels = tuple(LabelScore(*each) for each in chances.items())
    return DocumentPrediction("d", labels[0].label, labels[0].score, labels, evidence=passages)


def page(result: DocumentPrediction, rule: Rule | None = None) -> str:
    return explanation_page([ExplainedDocument(result, TEXT, rule=rule)])


MINOR = graded({"minor": 0.55, "moderate": 0.2, "critical": 0.15, "serious": 0.1}, {"moderate": (0.3, -2.0, 1.0)})


def test_the_lowest_grade_has_its_reason_on_the_side_of_lower_grades() -> None:
    """The reason for "minor" was said to speak against it."""
    html = page(MINOR, Rule(grades=GRADES))
    shown = words(html)
    for said in (
        "It is the most probable of 4 grades: a higher one has a probability of 45",
        "Probability of each grade minor 0.550 moderate 0.200 serious 0.100 critical 0.150",
        "Passages that speak for this grade or a higher one have a solid line, passages that speak for a lower grade a "
        "dashed one",
        "Strongest for moderate or higher The score asks whether the grade is moderate or higher. A plus speaks for "
        "that, a minus for a lower grade.",
        "Strongest for a grade lower than moderate -2.000",
        "Without passage 1 for a lower grade the logit should move by",
    ):
        assert said in shown, said
    assert "against" not in shown
    assert "speak for the label" not in shown
    assert 'title="moderate or higher: -2.000"' in html
    assert 'data-falls="speaks for a grade lower than " data-falls-after=""' in html


def test_a_grade_in_the_middle_can_be_asked_for_on_both_sides() -> None:
    chances = {"serious": 0.3, "minor": 0.35, "moderate": 0.1, "critical": 0.25}
    html = page(graded(chances, {"serious": (1.0, 0.0, 0.0), "critical": (-1.0, 0.0, 0.0)}), Rule(grades=GRADES))
    shown = words(html)
    for said in (
        "It is not the most probable, but the middle one, of 4 grades: a lower one has a probability of 45",
        "a higher one of 25",
        "Evidence for serious or higher critical or higher",
        "The score asks whether the grade is serious or higher, if it is moderate at least. A plus",
        "Strongest for a grade lower than critical",
    ):
        assert said in shown, said
    undecided = DocumentPrediction(
        "d", None, None, tuple(LabelScore(*each) for each in chances.items()), abstained=True
    )
    assert conclusion_of(undecided, Rule(grades=GRADES)).before == (
        "The model does not decide. In the middle of what is probable is"
    )


def test_the_rule_of_a_model_names_grades_in_their_order_and_its_temperature() -> None:
    def rule(task: str) -> Rule:
        decided: Any = SimpleNamespace(decisions=Decisions(temperature=0.5))
        return rule_of(SimpleNamespace(settings=decided, labels=GRADES, task=task_named(task)))  # type: ignore[arg-type]

    assert (rule("ordinal").grades, rule("ordinal").temperature) == (GRADES, 0.5)
    assert rule("single_label").grades == rule("multi_label").grades == ()


def test_the_place_of_the_lowest_grade_is_where_its_reason_stands() -> None:
    document = Document("d", TEXT)
    assert loudest_place(document, MINOR) == 5.5 / 11
    assert [weight for _, _, weight in evidence_strip(document, MINOR)] == [-0.3, 2.0, -1.0]
    chosen = graded({"best, not given": 0.6, "given": 0.4}, {"given": (1.0, 2.0, 3.0)})
    labels = tuple(each._replace(chosen=each.label == "given") for each in chosen.labels)
    many = DocumentPrediction("d", labels=labels, evidence=chosen.evidence)
    assert [weight for _, _, weight in evidence_strip(document, many)] == [1.0, 2.0, 3.0]


def test_a_number_has_passages_that_raise_and_lower_it() -> None:
    passages = [EvidencePassage(4 * place, 4 * place + 3, "value", weight) for place, weight in enumerate((-0.5, 0.25))]
    passages[0] = passages[0]._replace(occlusion=Occlusion(-0.5, 0.5, False))
    html = page(DocumentPrediction("d", value=-0.25, evidence=tuple(passages)), Rule(temperature=1.0))
    shown = words(html)
    for said in (
        "The value is -0.25.",
        "Passages that raise the value have a solid line, passages that lower it a dashed one",
        "Raises the value most +0.250",
        "Lowers the value most -0.500",
        "The weights of all 2 passages add up to -0.250, the value. Passages",
        "Without passage 1 that lowers it the value should move by +0.500; it was taken away, and the value moved by "
        "-0.500. These weights do not explain the value.",
    ):
        assert said in shown, said
    assert not re.search(r"label|logit|speak|against", shown)
    assert 'data-rises="raises " data-falls="lowers "' in html
    lone = DocumentPrediction("d", value=-0.5, evidence=(EvidencePassage(0, 3, "age", -0.5),))
    assert "Raises age most No passage raises it. Lowers age most" in words(page(lone))

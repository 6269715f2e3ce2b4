"""What the page says of a score: for a label or against it, a higher grade or a lower one, more or less of a number."""

from __future__ import annotations

import html
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
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", body)).split())


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
    drawn = page(MINOR, Rule(grades=GRADES))
    shown = words(drawn)
    for said in (
        "It is the most probable of 4 grades: a higher one has a probability of 45",
        "Probability of each grade minor 0.550 moderate 0.200 serious 0.100 critical 0.150",
        "Passages that speak for this grade or a higher one have a solid line, passages that speak for a lower grade a "
        "dashed one",
        "The score asks whether the grade is moderate or higher. A plus speaks for that, a minus for a lower grade. "
        "Strongest for a grade lower than moderate -2.000",
        "Strongest for moderate or higher +1.000",
        "Without passage 1 the logit should move by",
    ):
        assert said in shown, said
    assert shown.index("Strongest for a grade lower") < shown.index("Strongest for moderate or higher")
    assert '<ol class="ranked against leads">' in drawn, "the text has the numbers of this list"
    assert "against" not in shown
    assert "speak for the label" not in shown
    assert 'title="moderate or higher: -2.000"' in drawn
    assert 'data-falls="speaks for a grade lower than " data-falls-after=""' in drawn


def test_a_grade_in_the_middle_can_be_asked_for_on_both_sides() -> None:
    chances = {"serious": 0.3, "minor": 0.35, "moderate": 0.1, "critical": 0.25}
    drawn = page(graded(chances, {"serious": (1.0, 0.0, 0.0), "critical": (-1.0, 0.0, 0.0)}), Rule(grades=GRADES))
    shown = words(drawn)
    for said in (
        "It is not the most probable, but the middle one, of 4 grades: a lower one has a probability of 45",
        "a higher one of 25",
        "Evidence for serious or higher critical or higher",
        "The score asks whether the grade is serious or higher, if it is moderate at least. A plus",
        "Strongest for a grade lower than critical",
        "Strongest for serious or higher +1.000 aa. The weights",
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
    drawn = page(DocumentPrediction("d", value=-0.25, evidence=tuple(passages)), Rule(temperature=1.0))
    shown = words(drawn)
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
    assert 'data-rises="raises " data-falls="lowers "' in drawn
    lone = DocumentPrediction("d", value=-0.5, evidence=(EvidencePassage(0, 3, "age", -0.5),))
    assert "Raises age most No passage raises it. Lowers age most" in words(page(lone))


QUIET = "Nothing in the text speaks strongly"


def test_what_is_loud_is_judged_under_the_temperature_of_the_model() -> None:
    """Beside a probability of 97 % the page said that it may be chance: the temperature was 0.1."""
    labels = (LabelScore("lease", 0.97, True), LabelScore("sale", 0.02, False))
    evidence = (EvidencePassage(0, 3, "lease", 0.38), EvidencePassage(4, 7, "lease", -0.03))
    result = DocumentPrediction("d", labels=labels, evidence=evidence)
    each = {"lease": 0.5, "sale": 0.5}
    sharp = page(result, Rule(each, temperature=0.1))
    assert QUIET not in sharp
    assert 'class="passage for level-5"' in sharp
    assert 'data-loud="0.05"' in sharp
    assert QUIET in page(result, Rule(each))
    louder = tuple(passage._replace(weight=4 * passage.weight) for passage in evidence)
    blunt = page(DocumentPrediction("d", labels=labels, evidence=louder), Rule(each, temperature=4.0))
    assert QUIET in blunt
    assert 'class="passage for level-4"' in blunt


def test_a_reader_can_check_how_a_probability_comes_of_the_weights() -> None:
    evidence = (EvidencePassage(0, 3, "lease", 0.25), EvidencePassage(4, 7, "lease", 0.1))
    result = DocumentPrediction("d", labels=(LabelScore("lease", 0.971, True),), evidence=evidence)
    added = "The weights of all 2 passages add up to +0.350, the logit."
    told = words(page(result, Rule({"lease": 0.5}, temperature=0.1)))
    assert f"{added} Divided by the model's temperature, 0.1, it is +3.500: a probability of 97.1 %. Passages" in told
    assert f"{added} That is a probability of 58.7 %. Passages" in words(page(result, Rule({"lease": 0.5})))
    assert f"{added} Passages" in words(page(result)), "nobody knows"
    one = DocumentPrediction("d", "lease", 0.9, (LabelScore("lease", 0.9), LabelScore("sale", 0.1)), evidence=evidence)
    assert (
        f"{added} The logits of all labels are divided by the model's temperature, 2, before probabilities are made of "
        "them. Passages"
    ) in words(page(one, Rule(temperature=2.0)))
    assert f"{added} Passages" in words(page(one, Rule()))
    low = "The answer is as probable as it is since the scores of all other labels are low."
    assert low in words(page(one, Rule(temperature=2.0)))
    assert low not in words(page(MINOR, Rule(grades=GRADES)))
    grade = words(page(MINOR, Rule(grades=GRADES, temperature=2.0)))
    assert "it is -0.350: a probability of 41.3 % for what the score asks." in grade

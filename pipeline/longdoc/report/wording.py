"""What the weights of a score mean, in words: for a label or against it, for a higher grade or a lower one, up or down.

Names are not ours and are kept apart from the words around them, so that a page can show them as such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from longdoc.report.conclusion import Rule, percent
from longdoc.types import DocumentPrediction

__all__ = ["Phrase", "ScoreWords", "probability_words", "score_words", "signed"]


class Phrase(NamedTuple):
    """Words around a name."""

    before: str
    name: str
    after: str = ""

    def __str__(self) -> str:
        return self.before + self.name + self.after


@dataclass(frozen=True, repr=False)
class ScoreWords:
    """How a page speaks of one score.

    Attributes:
        total: what its passages add up to: the logit, or the value.
        name: of what a plus speaks.
        meaning: what the score asks, where its name does not say it.
        rises, falls: what a passage with a plus does, and one with a minus.
        most_rising, most_falling: the headings of the lists.
        none_rises: said where the first of them is empty.
        falls_first: whether the answer lies on the side of the minuses, which is told first then.
        other_side: how a passage of the second list is told from one of the first.
        legend: of plus and minus the words that are shaded, and those that follow.
    """

    total: str
    name: Phrase
    meaning: tuple[Phrase, ...]
    rises: Phrase
    falls: Phrase
    most_rising: Phrase
    most_falling: Phrase
    none_rises: str
    falls_first: bool
    other_side: str
    legend: tuple[tuple[str, str], tuple[str, str]]


def score_words(name: str, result: DocumentPrediction, rule: Rule | None = None) -> ScoreWords:
    """The words for a score that evidence is given for; without a rule no labels are known to be grades."""
    if result.value is not None:
        return _of_number("the value" if name == "value" else name)
    grades = () if rule is None else rule.grades
    return _of_grade(name, grades, result.labels[0].label) if name in grades[1:] else _of_label(name)


def signed(value: float) -> str:
    """A weight with its sign: three places, or one digit where that would be none."""
    return f"{value:+.3f}" if abs(value) >= 0.0005 or not value else f"{value:+.1g}"


def probability_words(total: float, result: DocumentPrediction, rule: Rule | None) -> str:
    """How a probability comes of a score that passages add up to, so that a reader can check it; may be empty."""
    if rule is None or result.value is not None:
        return ""
    one_label = not (rule.thresholds or rule.grades)
    if one_label:
        if rule.temperature == 1:
            return ""
        return (
            f" The logits of all labels are divided by the model's temperature, {rule.temperature:.3g}, before "
            "probabilities are made of them."
        )
    calibrated = total / rule.temperature
    chance = f"a probability of {percent(1 / (1 + math.exp(-max(-700.0, min(700.0, calibrated)))))}"
    asked = " for what the score asks" if rule.grades else ""
    if rule.temperature == 1:
        return f" That is {chance}{asked}."
    return f" Divided by the model's temperature, {rule.temperature:.3g}, it is {signed(calibrated)}: {chance}{asked}."


def _of_label(name: str) -> ScoreWords:
    return ScoreWords(
        total="logit",
        name=Phrase("", name),
        meaning=(),
        rises=Phrase("speaks for ", name),
        falls=Phrase("speaks against ", name),
        most_rising=Phrase("Strongest for ", name),
        most_falling=Phrase("Strongest against", ""),
        none_rises="No passage speaks for it.",
        falls_first=False,
        other_side=" against",
        legend=(("speak for", " the label"), ("speak against", " it")),
    )


def _of_grade(name: str, grades: tuple[str, ...], answer: str) -> ScoreWords:
    """Of "this grade or a higher one", given that it is no lower than the one below (`longdoc.tasks.ordinal`)."""
    below = grades[grades.index(name) - 1]
    lower = answer in grades[: grades.index(name)]
    asked = [Phrase("The score asks whether the grade is ", name, " or higher")]
    if below != grades[0]:
        asked.append(Phrase(", if it is ", below, " at least"))
    asked.append(Phrase(". A plus speaks for that, a minus for a lower grade.", ""))
    return ScoreWords(
        total="logit",
        name=Phrase("", name, " or higher"),
        meaning=tuple(asked),
        rises=Phrase("speaks for ", name, " or higher"),
        falls=Phrase("speaks for a grade lower than ", name),
        most_rising=Phrase("Strongest for ", name, " or higher"),
        most_falling=Phrase("Strongest for a grade lower than ", name),
        none_rises="No passage speaks for it.",
        falls_first=lower,
        other_side=" for a higher grade" if lower else " for a lower grade",
        legend=(("speak for", " this grade or a higher one"), ("speak for a lower grade", "")),
    )


def _of_number(name: str) -> ScoreWords:
    return ScoreWords(
        total="value",
        name=Phrase("", name),
        meaning=(),
        rises=Phrase("raises ", name),
        falls=Phrase("lowers ", name),
        most_rising=Phrase("Raises ", name, " most"),
        most_falling=Phrase("Lowers ", name, " most"),
        none_rises="No passage raises it.",
        falls_first=False,
        other_side=" that lowers it",
        legend=(("raise", " the value"), ("lower", " it")),
    )

"""The evidence of one label as a page tells it: how much in all, and which passages carry the most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longdoc.report.conclusion import Rule
from longdoc.report.marked import LOUD, MarkedText, Passage, shade_level
from longdoc.report.wording import Phrase, ScoreWords, probability_words, score_words
from longdoc.types import DocumentPrediction, EvidencePassage, Occlusion

__all__ = ["LabelView", "RankedPassage", "evidence_by_label", "label_view"]

FOR, AGAINST = 5, 3
"""How many passages are listed on each side."""
_SNIPPET = 140


@dataclass(frozen=True, repr=False)
class RankedPassage:
    """A passage in the list of the strongest.

    Attributes:
        number: of the passage in the document, from 0.
        weight: what it adds, in logit space.
        share: its size beside that of the strongest, of 100, for a bar.
        where: chunk and page, in words.
        snippet: how it begins.
        occlusion: what became of the score without it, where that was tried.
    """

    number: int
    weight: float
    share: int
    where: str
    snippet: str
    occlusion: Occlusion | None


@dataclass(frozen=True, repr=False)
class LabelView:
    """What speaks for one label and against it.

    Attributes:
        label: its name.
        words: how a page speaks of it.
        calibration: how its probability comes of what the passages add up to, in a sentence; may be empty.
        total: the score itself: the logit, or the number.
        base: what of it stands in no passage.
        strongest: the greatest weight by size; shading is relative to it, or to `loud` if that is more.
        loud: the weight from which on it says much, before the temperature, as all weights are; 0 for a number, whose
            unit nobody knows.
        elsewhere: whether the answer is surer than its own score could make it: the other labels' scores are low.
        weights: what every passage of the document adds by itself, in order; None = no evidence.
        favouring, opposing: the strongest of each side, the strongest first.
        occlusion: the check of one passage, and the number of that passage, from 0.
    """

    label: str
    words: ScoreWords
    calibration: str
    total: float
    base: float
    strongest: float
    loud: float
    elsewhere: bool
    weights: list[float | None]
    favouring: list[RankedPassage]
    opposing: list[RankedPassage]
    occlusion: tuple[Occlusion, int] | None

    @property
    def quiet(self) -> bool:
        """Whether all passages together hardly move the score, and none does by itself."""
        return abs(self.moved) < self.loud and self.strongest < self.loud

    @property
    def moved(self) -> float:
        """What the passages add up to."""
        return self.total - self.base

    @property
    def loudest(self) -> float:
        """The greatest weight by size, with its sign; 0 where there is none."""
        return max((weight for weight in self.weights if weight is not None), key=abs, default=0.0)

    @property
    def sides(self) -> list[tuple[str, Phrase, list[RankedPassage]]]:
        """The lists in their order: class of the style sheet, heading, passages."""
        both = [
            ("for", self.words.most_rising, self.favouring),
            ("against", self.words.most_falling, self.opposing),
        ]
        return both[::-1] if self.words.falls_first else both

    def called(self, number: int) -> str:
        """A passage by its place in the list that it stands in, as its badge in the text is."""
        for (_, _, items), words in zip(self.sides, ("", self.words.other_side), strict=True):
            for place, each in enumerate(items, 1):
                if each.number == number:
                    return f"passage {place}{words}"
        return "that passage"

    @property
    def packed(self) -> str:
        """The weights for a script: four digits each, with commas between them, nothing for None."""
        return ",".join("" if weight is None else f"{weight:.4g}" for weight in self.weights)


def evidence_by_label(result: DocumentPrediction) -> dict[str, list[EvidencePassage]]:
    """The passages of each label that has any, the best label first."""
    found: dict[str, list[EvidencePassage]] = {}
    for passage in result.evidence or ():
        found.setdefault(passage.label, []).append(passage)
    ranks = {each.label: rank for rank, each in enumerate(result.labels)}
    return {label: found[label] for label in sorted(found, key=lambda label: ranks.get(label, len(ranks)))}


def label_view(
    label: str, number: int, text: str, marked: MarkedText, result: DocumentPrediction, rule: Rule | None = None
) -> LabelView:
    """The view of one label.

    Args:
        number: of the label in the weights of `marked`.
        text: of the document.
        result: the answer that the label belongs to.
        rule: how scores became the answer.
    """
    strongest = marked.strongest(number)
    temperature = 1.0 if rule is None else rule.temperature
    loud = LOUD * temperature if result.value is None else 0.0
    weights = [passage.weights[number] for passage in marked.passages]
    order = sorted(range(len(weights)), key=lambda each: -abs(weights[each] or 0.0))
    visible = [each for each in order if shade_level(weights[each], strongest)]

    def ranked(numbers: Sequence[int]) -> list[RankedPassage]:
        return [_ranked(each, marked.passages[each], number, strongest, text) for each in numbers]

    total = math.fsum(passage.weight for passage in result.evidence or () if passage.label == label)
    moved = math.fsum(weight for weight in weights if weight is not None)
    tried = ((passage.occlusions[number], place) for place, passage in enumerate(marked.passages))
    return LabelView(
        label,
        score_words(label, result, rule),
        probability_words(total, result, rule),
        total,
        total - moved,
        strongest,
        loud,
        _made_sure_by_others(label, result, rule),
        weights,
        ranked([each for each in visible if (weights[each] or 0.0) > 0][:FOR]),
        ranked([each for each in visible if (weights[each] or 0.0) < 0][:AGAINST]),
        next(((found, place) for found, place in tried if found is not None), None),
    )


def _made_sure_by_others(label: str, result: DocumentPrediction, rule: Rule | None) -> bool:
    """Of labels that share one probability, whether this has more than `LOUD` beside others at 0 would give it."""
    if rule is None or rule.thresholds or rule.grades or len(result.labels) < 2:
        return False
    alone = 1 / (1 + math.exp(-LOUD))
    return any(each.label == label and each.score > alone for each in result.labels)


def _ranked(number: int, passage: Passage, label: int, strongest: float, text: str) -> RankedPassage:
    weight = passage.weights[label] or 0.0
    words = " ".join(text[passage.start : min(passage.end, passage.start + 4 * _SNIPPET)].split())
    snippet = words if len(words) <= _SNIPPET else words[:_SNIPPET].rpartition(" ")[0] or words[:_SNIPPET]
    shown = snippet if len(snippet) == len(words) else f"{snippet} …"
    share = max(1, round(100 * abs(weight) / strongest)) if strongest else 0
    return RankedPassage(number, weight, share, passage.where, shown, passage.occlusions[label])

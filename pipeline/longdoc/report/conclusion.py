"""An answer in words: what is said of a document, how sure that is, and by which rule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longdoc.errors import counted
from longdoc.types import DocumentPrediction

__all__ = ["Conclusion", "Rule", "answer_words", "conclusion_of", "percent", "reading_words"]

_MOST_PAGES = 10
"""Numbers of pages that are named."""
_PERCENT = "\u00a0%"
"""No line ends between a number and its sign."""


@dataclass(frozen=True)
class Rule:
    """How scores became an answer, as far as a reader needs to know.

    Attributes:
        thresholds: of each label, where each is decided by itself: from which probability on it is given.
        coverage: where the model abstains: the share of documents for which the labels that it cannot exclude hold the
            right one.
        min_score: spans and answers with less are held back.
        grades: the labels from low to high, where they stand in an order.
        temperature: what scores are divided by before they become probabilities.
    """

    thresholds: Mapping[str, float] = field(default_factory=dict)
    coverage: float | None = None
    min_score: float = 0.0
    grades: tuple[str, ...] = ()
    temperature: float = 1.0


@dataclass(frozen=True, repr=False)
class Conclusion:
    """A sentence with names in it, which are not ours and are shown as such, and sentences that follow."""

    before: str
    names: tuple[str, ...] = ()
    after: str = ""
    notes: tuple[str, ...] = ()


def conclusion_of(result: DocumentPrediction, rule: Rule | None = None) -> Conclusion:
    """What a page says above the text; where `rule` is None nothing is said about thresholds."""
    rule = rule or Rule()
    if result.question is not None:
        return _of_question(result, rule)
    if result.value is not None:
        return Conclusion("The value is", (f"{result.value:.4g}",), ".")
    if not result.labels:
        return _of_spans(result, rule)
    if rule.thresholds or sum(bool(item.chosen) for item in result.labels) > 1:
        return _of_many(result, rule)
    return _of_one(result, rule)


def answer_words(result: DocumentPrediction) -> tuple[str, str]:
    """The answer and its score for a table: to a question, of one label, of those chosen among many, or a number."""
    if result.question is not None:
        said = "not sure enough" if result.abstained else "no answer" if result.answer is None else result.answer
        return said, "" if result.score is None else f"{result.score:.3f}"
    if result.value is not None:
        return f"{result.value:.4g}", ""
    chosen = [item for item in result.labels if item.chosen]
    if chosen:
        return ", ".join(item.label for item in chosen), ", ".join(f"{item.score:.3f}" for item in chosen)
    if result.spans:
        counts = Counter(span.label for span in result.spans)
        return ", ".join(f"{label} ({count})" for label, count in sorted(counts.items())), ""
    if result.label is None:
        return "undecided" if result.abstained else "no label" if result.labels else "no place", ""
    return result.label, "" if result.score is None else f"{result.score:.3f}"


def reading_words(result: DocumentPrediction, textless: Sequence[int] = ()) -> str:
    """What was read of a document, and what was not.

    Args:
        textless: numbers of its pages that have no text.
    """
    chunks = counted(result.n_chunks, "chunk")
    if result.tokens_read == result.n_tokens:
        whole = "The text of the other pages" if textless else "The whole document"
        read = f"{whole} was read: {_tokens(result.n_tokens)} in {chunks}."
    else:
        share = percent(result.tokens_read / max(1, result.n_tokens))
        read = (
            f"Only {share} of the document was read: {result.tokens_read:,} of {_tokens(result.n_tokens)}, in {chunks}."
            " The model is set to leave the rest out."
        )
    if result.unknown_share:
        read += f" {percent(result.unknown_share).capitalize()} of the characters are unknown to the tokenizer."
    return f"{_textless_words(textless)} {read}" if textless else read


def _textless_words(pages: Sequence[int]) -> str:
    shown = [f"{page}" for page in pages[:_MOST_PAGES]]
    if len(pages) > _MOST_PAGES:
        shown.append(f"{len(pages) - _MOST_PAGES} more")
    if len(pages) == 1:
        return f"Page {shown[0]} was not read: it has no text (a scan, a picture, or an empty page)."
    named = f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"Pages {named} were not read: they have no text (scans, pictures, or empty pages)."


def percent(share: float) -> str:
    """A probability or share for people: never 0 % or 100 % where it is not quite that."""
    if 0 < share < 0.001:
        return f"less than 0.1{_PERCENT}"
    if 0.999 < share < 1:
        return f"more than 99.9{_PERCENT}"
    return f"{100 * share:.1f}".removesuffix(".0") + _PERCENT


def _tokens(number: int) -> str:
    return f"{number:,} token{'' if number == 1 else 's'}"


def _of_one(result: DocumentPrediction, rule: Rule) -> Conclusion:
    open_labels = sum(item.chosen is None for item in result.labels)
    best = result.labels[0]
    kind = "grade" if rule.grades else "label"
    first = best.score >= max(item.score for item in result.labels)
    if result.abstained or result.label is None:
        notes = []
        if rule.coverage is not None and open_labels:
            notes.append(
                f"{counted(open_labels, kind)} remain{'s' if open_labels == 1 else ''} possible; the right one is "
                f"among those that remain for {percent(rule.coverage)} of documents like those of the validation."
            )
        after = f", with a probability of {percent(best.score)}, which is not sure enough."
        most = "Most probable is" if first else "In the middle of what is probable is"
        return Conclusion(f"The model does not decide. {most}", (best.label,), after, tuple(notes))
    score = best.score if result.score is None else result.score
    if rule.grades:
        notes = [_among_grades(result, rule, first)]
    else:
        notes = [f"It is the most probable of {counted(len(result.labels), 'label')}."]
    if rule.coverage is not None:
        notes.append(
            f"All other {kind}s can be excluded, by a rule that keeps the right one for {percent(rule.coverage)} of "
            "documents like those of the validation."
        )
    return Conclusion("The answer is", (result.label,), f", with a probability of {percent(score)}.", tuple(notes))


def _among_grades(result: DocumentPrediction, rule: Rule, first: bool) -> str:
    """Where the answer stands among grades: it is the middle one by probability, and need not be the most probable."""
    rank = rule.grades.index(result.labels[0].label)
    lower = math.fsum(item.score for item in result.labels if rule.grades.index(item.label) < rank)
    higher = math.fsum(item.score for item in result.labels if rule.grades.index(item.label) > rank)
    sides = [f"a lower one has a probability of {percent(lower)}"] if rank else []
    if rank + 1 < len(rule.grades):
        sides.append(f"a higher one{'' if sides else ' has a probability'} of {percent(higher)}")
    which = "the most probable" if first else "not the most probable, but the middle one,"
    return f"It is {which} of {counted(len(rule.grades), 'grade')}: {', '.join(sides)}."


def _of_many(result: DocumentPrediction, rule: Rule) -> Conclusion:
    given = [item for item in result.labels if item.chosen]
    undecided = sum(item.chosen is None for item in result.labels)
    of = f"of {counted(len(result.labels), 'label')}"
    notes = []
    if rule.thresholds and rule.coverage is None:
        bounds = sorted({rule.thresholds[item.label] for item in result.labels if item.label in rule.thresholds})
        said = percent(bounds[0]) if len(bounds) == 1 else f"{percent(bounds[0])} to {percent(bounds[-1])}"
        each = "each label is" if len(bounds) == 1 else "depending on the label, it is"
        notes.append(f"Labels are decided one by one: {each} given from a probability of {said} on.")
    if undecided:
        sure = "" if rule.coverage is None else f" at the {percent(rule.coverage)} that was asked for"
        notes.append(f"{counted(undecided, 'label')} can neither be given nor excluded{sure}.")
    if not given:
        return Conclusion(f"None {of} is given.", (), "", tuple(notes))
    is_are = "is" if len(given) == 1 else "are"
    return Conclusion(f"{len(given)} {of} {is_are} given:", tuple(item.label for item in given), ".", tuple(notes))


def _of_spans(result: DocumentPrediction, rule: Rule) -> Conclusion:
    held = f"Places below a probability of {percent(rule.min_score)} are held back."
    notes = (held,) if rule.min_score else ()
    if not result.spans:
        return Conclusion("No place was found in this document.", notes=notes)
    labels = tuple(sorted({span.label for span in result.spans}))
    place = counted(len(result.spans), "place")
    return Conclusion(f"{place} {'is' if len(result.spans) == 1 else 'are'} marked:", labels, ".", notes)


def _of_question(result: DocumentPrediction, rule: Rule) -> Conclusion:
    chance = "" if result.score is None else f"a probability of {percent(result.score)}"
    score = f", with {chance}" if chance else ""
    if result.abstained:
        held = f"; answers below {percent(rule.min_score)} are held back" if rule.min_score else ""
        notes = (f"The best place that was found has {chance}{held}.",) if chance else ()
        return Conclusion("The model is not sure enough to answer.", notes=notes)
    if result.answer is None:
        return Conclusion("The text does not answer the question.", notes=_of_no_answer(result))
    notes = ("That is the probability of just this place, among all places and that there is no answer.",)
    return Conclusion("The answer is", (result.answer,), f"{score}.", notes if score else ())


def _of_no_answer(result: DocumentPrediction) -> tuple[str, ...]:
    """Why there is none: its probability beside that of the best place, since both are small where places are many."""
    if result.score is None:
        return ()
    if not result.answers:
        return (f"That there is no answer has a probability of {percent(result.score)}.",)
    none, best = _told_apart(result.score, result.answers[0].score)
    if result.score >= result.answers[0].score:
        more = f"more than any single place in the text has: the most probable place has {best}."
    else:
        more = f"the most probable place in the text {best}: too little more, by the model's rule, to be an answer."
    return (f"That there is no answer has a probability of {none}, {more}",)


def _told_apart(one: float, other: float) -> tuple[str, str]:
    """Two probabilities as `percent` says them, with as many places as it takes to see which is greater."""
    said = percent(one), percent(other)
    for places in range(2, 6):
        if said[0] != said[1]:
            break
        said = f"{100 * one:.{places}f}{_PERCENT}", f"{100 * other:.{places}f}{_PERCENT}"
    return said

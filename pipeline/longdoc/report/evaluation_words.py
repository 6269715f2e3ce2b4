"""Sentences of the report of an evaluation that depend on what was found: never a verdict from too few documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longdoc.errors import counted
from longdoc.metrics.intervals import FEWEST_DOCUMENTS
from longdoc.report.findings import Group

__all__ = ["calibration_words", "documents_words", "error_words", "interval_words", "place_words"]

_NEAR = 0.02


def documents_words(documents: int, unanswered: int) -> str:
    """How many there are, and how many of them have no answer."""
    if documents == 1:
        return f"1 labelled document; it is {'without an answer' if unanswered else 'answered'}."
    verb = "is" if unanswered == 1 else "are"
    rest = f"{unanswered} of them {verb} without an answer" if unanswered else "all of them are answered"
    return f"{counted(documents, 'labelled document')}; {rest}."


def calibration_words(rows: Sequence[Mapping[str, Any]], error: float, documents: int) -> str:
    """Whether scores can be taken at their word.

    Args:
        rows: `calibration` of the metrics, at least one.
        error: the expected calibration error.
        documents: how many stand behind it.
    """
    pairs = sum(row["pairs"] for row in rows)
    confidence, right = (sum(row[name] * row["pairs"] for row in rows) / pairs for name in ("confidence", "accuracy"))
    numbers = f"mean confidence is {confidence:.3f}, and the share that comes true is {right:.3f}"
    if documents < FEWEST_DOCUMENTS:
        few = f"{counted(documents, 'answered document')} {'is' if documents == 1 else 'are'} too few"
        return f"{few} to say whether the model is too sure or too modest. The {numbers}."
    if abs(confidence - right) < _NEAR:
        manner = f"as sure as it should be, as far as {counted(documents, 'document')} can tell"
    elif abs(confidence - right) <= 2 * _standard_error(confidence, right, documents):
        manner = (
            "neither clearly too sure nor clearly too modest: "
            f"with {counted(documents, 'document')} the difference may be chance"
        )
    else:
        manner = "too sure" if confidence > right else "too modest: it is right more often than it says"
    return (
        f"The model is on the whole {manner}. Its {numbers}; range by range, the two differ by {error:.3f} (expected "
        "calibration error)."
    )


def _standard_error(confidence: float, right: float, documents: int) -> float:
    """Of the share that comes true. Pairs of one document are not independent, so documents are counted.

    The larger of two: as the share was found, and as it would be if scores were honest. All right, or all wrong, are
    found by chance, too, and the first is 0 then.
    """
    return math.sqrt(max(share * (1 - share) for share in (confidence, right)) / documents)


def interval_words(groups: Iterable[Group]) -> str:
    """What a caption says of the intervals of the means that are drawn."""
    drawn = [group.low is not None for group in groups if group.mean is not None]
    if not any(drawn):
        return "; no intervals, since documents are too few or all alike" if drawn else ""
    return ", with 95 % intervals" if all(drawn) else ", with 95 % intervals where documents are enough and differ"


def place_words(by_gold: bool, of_numbers: bool, outcome_name: str) -> str:
    """What is drawn over the places of a text."""
    if by_gold:
        return "Mean score of what is to be found, by where it stands"
    passage = "that raises the number the most" if of_numbers else "that says the most for the answer"
    return f"Mean {outcome_name}, by where the passage stands {passage}, in a sample"


def error_words(of_numbers: bool) -> dict[str, str]:
    """Heading, introduction and legend of the table of errors."""
    look = "Either the model has learned something false here, or the right answer in the data is wrong: look at both."
    if of_numbers:
        return {
            "heading": "The largest errors",
            "introduction": f"The answers that are farthest from the right number. {look}",
            "legend": "Above the line: raises the number. Below: lowers it.",
            "none": "There are none: every answer is right within rounding.",
        }
    return {
        "heading": "The most surprising errors",
        "introduction": f"Wrong answers of which the model was the surest. {look}",
        "legend": "Above the line: speaks for the answer. Below: speaks against it.",
        "none": "There are none: every answer is right.",
    }

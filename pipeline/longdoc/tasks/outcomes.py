"""How one document came out: what reports of an evaluation draw, whatever the task is."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["MISSING", "Outcome", "chance_of", "surprise_of"]

_LEAST = 1e-12


class Outcome(NamedTuple):
    """One labelled document and its answer.

    Attributes:
        score: what `Task.outcome_name` names: 0 (all wrong) to 1 (all right), or an error in the unit of the data; NaN
            where there is no answer that could be measured.
        surprise: how sure the model was of what is wrong, of numbers how wrong they are; 0 where nothing is. Only its
            order matters.
        right, said: the right answer and the given one in words; of places where they are, never what stands there.
        places: of what can be found at one place of the text: where it begins, from 0 to 1, and its score.
        judged: all that was or might have been said, with its probability and whether it is right.
        wanted: how many right things there are to say.
        distance: of numbers, how far the given one is from the right one; else None.
    """

    score: float
    surprise: float = 0.0
    right: str = ""
    said: str = ""
    places: tuple[tuple[float, float], ...] = ()
    judged: tuple[tuple[float, bool], ...] = ()
    wanted: int = 0
    distance: float | None = None


MISSING = "no answer"
"""What is said of a document without one."""


def surprise_of(probability: float) -> float:
    """Minus the logarithm of the probability of what is right: 0 at 1, and finite at 0."""
    return -math.log(min(1.0, max(_LEAST, probability)))


def chance_of(name: str, probability: float) -> str:
    """`Lease (0.93)`."""
    return f"{name} ({probability:.2f})"

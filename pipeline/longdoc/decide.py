"""How scores become answers, as fitted on validation documents and stored in the model folder.

The temperature that makes probabilities of scores, the threshold of each label, and when to abstain; what a task makes
of them, the task says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from longdoc.schema import Config

__all__ = ["ConformalSets", "Decisions", "plausible_labels"]


class ConformalSets(Config):
    """Which labels cannot be excluded: those whose nonconformity 1 - p is within a limit (Sadinle et al. 2019).

    Split conformal prediction (Vovk et al. 2005; Angelopoulos and Bates 2021, arXiv 2107.07511): with the limit at the
    ceil((n + 1) * coverage)-th smallest nonconformity of the right answers of n documents, the set of a new document
    from the same source holds its right label with at least the probability `coverage`, whatever the model is worth.
    """

    coverage: float = Field(gt=0, lt=1)
    """The share of documents (multi label: of documents for each label) whose right answer is in the set."""
    limits: tuple[float, ...]
    """One for a single label, one a label for many. 1: with so few documents nothing could be excluded."""
    documents: int = Field(ge=1)
    """How many documents the limits come from."""


class Decisions(Config):
    """How scores become answers; fitted on validation documents only."""

    temperature: float = Field(default=1.0, gt=0)
    """Scores are divided by it before they become probabilities. Which label is given changes by it only where labels
    have an order."""
    thresholds: tuple[float, ...] | None = None
    """Multi label: the probability from which on each label is given; null = 0.5 for all."""
    conformal: ConformalSets | None = None
    """When to abstain; null = never."""
    documents: int = Field(default=0, ge=0)
    """How many validation documents all this was fitted on."""
    min_score: float = Field(default=0.0, ge=0, le=1)
    """Spans and answers: those with less are not given."""
    no_answer_margin: float = 0.0
    """Answers: "there is none" is said where its score exceeds that of the best answer by more than this."""
    labels_without_support: tuple[str, ...] = ()
    """Labels that no validation document has: their thresholds stayed at 0.5."""


def plausible_labels(scores: NDArray[np.float64], sets: ConformalSets) -> NDArray[np.bool_]:
    """Probabilities (..., C) -> bool (..., C): labels that belong to the conformal set of a document."""
    return np.asarray(1.0 - scores <= np.asarray(sets.limits))

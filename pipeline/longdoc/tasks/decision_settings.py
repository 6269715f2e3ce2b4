"""Settings of what is fitted on the validation documents once training has ended."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from longdoc.errors import ConfigurationError
from longdoc.schema import Config

__all__ = ["DecisionConfig", "ThresholdWish"]

ThresholdWish = Literal["f1", "f1_per_label", "f1_shared", "half"]


class DecisionConfig(Config):
    """What is fitted on the validation documents once training has ended."""

    temperature: bool = True
    """Divide scores by the temperature under which they are the best probabilities. No label changes; where
    labels have an order, the median may."""
    thresholds: ThresholdWish = "f1"
    """Multi label: give a label from the probability with the best F1 of that label (`f1_per_label`), from the one
    probability with the best macro F1 (`f1_shared`), from 0.5 (`half`); `f1` = the better of the first two in
    cross-validation over the validation documents."""
    coverage: float | None = Field(default=None, gt=0, lt=1)
    """Abstain where the labels that cannot be excluded are not exactly one; the right label is among them for at least
    this share of documents. Null: always answer."""

    min_score: Annotated[float, Field(ge=0, le=1)] | Literal["f1"] = 0.0
    """Spans: give those whose score is at least this; `f1` = the one with the best strict F1. Answers: a number."""
    no_answer_margin: float | Literal["f1"] = "f1"
    """Answers: say that there is none where its score exceeds the best answer's by more than this; `f1` = the one with
    the best F1."""

    def check(self, documents: int) -> None:
        """Refuse what cannot be fitted, before the long part begins.

        Args:
            documents: how many validation documents there are.

        Raises:
            ConfigurationError: abstention is asked for with too few validation documents.
        """
        if self.coverage is None:
            return
        if not documents:
            raise ConfigurationError(
                f"`training.decisions.coverage` is {self.coverage}, but there is no validation document to fit it on. "
                "Pass `--validation`, or set it to null."
            )
        if math.ceil((documents + 1) * self.coverage) > documents:
            needed = math.ceil(round(self.coverage / (1 - self.coverage), 9))
            raise ConfigurationError(
                f"`training.decisions.coverage` must be at most {documents / (documents + 1):.3f} with {documents} "
                f"validation documents, but is {self.coverage} instead: the model would abstain always. Lower it, or "
                f"bring at least {needed} validation documents."
            )

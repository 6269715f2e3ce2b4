"""Settings of what is fitted on the validation documents once training has ended."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longdoc.errors import ConfigurationError
from longdoc.schema import Config
from longdoc.types import Task

__all__ = ["DecisionConfig"]


class DecisionConfig(Config):
    """What is fitted on the validation documents once training has ended."""

    temperature: bool = True
    """Divide scores by the temperature under which they are the best probabilities. No label changes."""
    thresholds: Literal["f1", "half"] = "f1"
    """Multi label: give a label from the probability with the best F1 of that label, or from 0.5."""
    coverage: float | None = Field(default=None, gt=0, lt=1)
    """Abstain where the labels that cannot be excluded are not exactly one; the right label is among them for at least
    this share of documents. Null: always answer."""

    def check(self, task: Task) -> None:
        """Refuse what the task cannot have, before the long part begins.

        Raises:
            ConfigurationError: abstention is asked for in a regression.
        """
        if task == "regression" and self.coverage is not None:
            raise ConfigurationError(
                "`training.decisions.coverage` must be null for a regression, which has no labels to abstain from, but "
                f"is {self.coverage} instead."
            )

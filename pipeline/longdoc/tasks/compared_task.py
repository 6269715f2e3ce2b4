"""Tasks whose models can be compared: documents are drawn again and again, and the measure that decides follows.

Shape letters: B documents, R resamples.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longdoc.tasks.base import Task
from longdoc.types import Document, DocumentResult

__all__ = ["ComparedTask", "Floats"]

Floats = NDArray[np.float64]


class ComparedTask(Task):
    """What a paired test needs of gold and answers, document by document."""

    @property
    def chosen_by(self) -> str:
        """The metric on validation documents by which one strategy is preferred to another."""
        return self.automatic

    @abstractmethod
    def gold(self, documents: Sequence[Document], labels: Sequence[str]) -> NDArray[Any]:
        """The right answers as one array with B rows.

        Raises:
            DataError: as `check_gold`.
        """

    @abstractmethod
    def compared(
        self, documents: Sequence[Document], results: Sequence[DocumentResult], labels: Sequence[str]
    ) -> NDArray[Any]:
        """What a paired test needs of the answers, with B rows."""

    @abstractmethod
    def resampled(self, gold: NDArray[Any], compared: NDArray[Any], counts: Floats) -> Floats:
        """The automatic measure in resamples, turned so that more is better: counts (R, B) -> (R,)."""

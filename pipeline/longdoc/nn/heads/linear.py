"""The plain head: dropout and one linear layer on the document's row. Other heads add to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.dropout import Dropout
from longdoc.nn.exact import exact_linear
from longdoc.schema import Config

__all__ = ["LinearHead", "LinearHeadConfig"]


class LinearHead(nn.Module):
    """Dropout and one linear layer on the merged row.

    Args:
        width: F, the width of a chunk's row.
        classes: C.
        dropout: on the merged row, while training.
    """

    linear_rows = True
    """Whether `transform` is the identity: scores are then sums over tokens, not over chunks alone."""

    def __init__(self, width: int, classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(width, classes)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def transform(self, rows: Tensor) -> Tensor:
        """(N, F) -> (N, F), chunk by chunk."""
        return rows

    def rows(self, hidden: Tensor, pool: Callable[[Tensor], Tensor]) -> Tensor:
        """States (N, L, D) -> rows (N, F): pooled, then transformed; a few families do it the other way round."""
        return self.transform(pool(hidden))

    def classify(self, merged: Tensor) -> Tensor:
        """(B, F) -> (B, C)."""
        return exact_linear(self.output, self.dropout(merged))

    def weigh(self, parts: Tensor) -> Tensor:
        """(..., F) -> (..., C): what parts of a merged row give to each score, without the bias."""
        return parts @ self.output.weight.to(parts.dtype).T


class LinearHeadConfig(Config):
    """Dropout and one linear layer on the document's row."""

    kind: Literal["linear"] = "linear"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the document's row."""

    def build(self, width: int, classes: int) -> LinearHead:
        """The head for rows of `width` and `classes` scores."""
        return LinearHead(width, classes, self.dropout)

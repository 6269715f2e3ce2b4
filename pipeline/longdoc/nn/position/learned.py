"""Learned absolute positions: one trained vector for each (Gehring et al. 2017, arXiv 1705.03122; BERT, 1810.04805).

A table is finite. A position past its end is an error: continuing it any other way changes what was trained, so that
is a step of its own, never a side effect of a long text.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.errors import UsageError
from longdoc.nn.position.axes import reading_order
from longdoc.nn.position.base import AdditivePosition, Geometry
from longdoc.nn.position.limits import MOST_ROWS
from longdoc.schema import Config

__all__ = ["LearnedConfig", "LearnedPosition"]


class LearnedPosition(AdditivePosition):
    """Adds row `position + offset` of a trained table.

    Args:
        width: D.
        rows: rows of the table; positions reach from 0 to `rows - offset - 1`.
        offset: the row of position 0. RoBERTa and its kin (XLM-R, MPNet, Longformer) number positions from their
            padding id + 1 = 2, so that a table of 514 rows serves 512 positions.
    """

    def __init__(self, width: int, rows: int = 512, offset: int = 0) -> None:
        super().__init__(width)
        if rows < 1:
            raise UsageError(f"`rows` must be at least 1, but is {rows} instead.")
        if not 0 <= offset < rows:
            raise UsageError(f"`offset` must be in [0, {rows}), the rows of the table, but is {offset} instead.")
        self.rows = rows
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(rows, width))
        nn.init.normal_(self.weight, std=0.02)

    @property
    def max_tokens(self) -> int:
        return self.rows - self.offset

    def vectors(self, positions: Tensor) -> Tensor:
        """(1|N, L) -> (1|N, L, D), in the dtype of the table.

        Raises:
            UsageError: a position lies outside the table.
        """
        order = reading_order(positions, self.max_tokens)
        return F.embedding(order.to(torch.int64) + self.offset, self.weight)

    def extra_repr(self) -> str:
        return f"width={self.width}, rows={self.rows}, offset={self.offset}"


class LearnedConfig(Config):
    """A trained vector for each position, as in BERT; finite."""

    kind: Literal["learned"] = "learned"
    rows: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """Rows of the table; None = the encoder's `max_len` plus `offset`."""
    offset: int = Field(default=0, ge=0, le=MOST_ROWS)
    """The row of position 0: 2 for RoBERTa and its kin."""

    def build(self, geometry: Geometry) -> LearnedPosition:
        """The encoding for an encoder of this geometry."""
        rows = geometry.max_len + self.offset if self.rows is None else self.rows
        return LearnedPosition(geometry.embedding_width, rows, self.offset)

"""The head of BERT, and of families that took it over."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.exact import exact_linear
from longdoc.nn.heads.linear import LinearHead
from longdoc.schema import Config

__all__ = ["BertHead", "BertHeadConfig"]


class BertHead(LinearHead):
    """The head of BERT for sequence classification: a tanh layer on each chunk's row first ("pooler").

    Use it with `cls` pooling for the numbers of `BertForSequenceClassification`.
    """

    linear_rows = False

    def __init__(self, width: int, classes: int, dropout: float = 0.1) -> None:
        super().__init__(width, classes, dropout)
        self.dense = nn.Linear(width, width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def transform(self, rows: Tensor) -> Tensor:
        return exact_linear(self.dense, rows).tanh()


class BertHeadConfig(Config):
    """BERT's own: a tanh layer on each chunk's row, then dropout and one linear layer on the document's row."""

    kind: Literal["bert_pooler"] = "bert_pooler"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the document's row."""

    def build(self, width: int, classes: int) -> BertHead:
        """The head for rows of `width` and `classes` scores."""
        return BertHead(width, classes, self.dropout)

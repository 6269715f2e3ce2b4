"""Classification heads. A head has two halves, one before and one after the chunks of a document are merged.

`transform` acts on each chunk's row, `classify` on the document's merged row. The second half is linear, so that a
score is a sum of what each chunk gave to it. With a document of one chunk the merge is the identity and the head is
that of the family it comes from.

Rows and scores are float32 or finer whatever the dtype of the weights: a document's scores are computed once and
cost nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.dropout import Dropout
from longdoc.nn.exact import exact_linear
from longdoc.schema import Config

__all__ = ["BertHead", "BertHeadConfig", "HeadConfig", "LinearHead", "LinearHeadConfig"]


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

    def classify(self, merged: Tensor) -> Tensor:
        """(B, F) -> (B, C)."""
        return exact_linear(self.output, self.dropout(merged))

    def weigh(self, parts: Tensor) -> Tensor:
        """(..., F) -> (..., C): what parts of a merged row give to each score, without the bias."""
        return parts @ self.output.weight.to(parts.dtype).T


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


class LinearHeadConfig(Config):
    """Dropout and one linear layer on the document's row."""

    kind: Literal["linear"] = "linear"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the document's row."""

    def build(self, width: int, classes: int) -> LinearHead:
        """The head for rows of `width` and `classes` scores."""
        return LinearHead(width, classes, self.dropout)


class BertHeadConfig(Config):
    """BERT's own: a tanh layer on each chunk's row, then dropout and one linear layer on the document's row."""

    kind: Literal["bert_pooler"] = "bert_pooler"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the document's row."""

    def build(self, width: int, classes: int) -> BertHead:
        """The head for rows of `width` and `classes` scores."""
        return BertHead(width, classes, self.dropout)


# A new kind is one class and one name in this line.
HeadKind = LinearHeadConfig | BertHeadConfig

HeadConfig = Annotated[HeadKind, Field(discriminator="kind")]
"""A classification head by its `kind`."""

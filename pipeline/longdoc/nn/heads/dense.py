"""A layer with an activation on each chunk's row, then the linear head: RoBERTa, DeBERTa, ModernBERT and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.nn.dropout import Dropout
from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.heads.linear import LinearHead
from longdoc.nn.layers import ACTIVATIONS, Activation
from longdoc.schema import Config

__all__ = ["DenseHead", "DenseHeadConfig"]


class DenseHead(LinearHead):
    """Dropout, one layer, an activation, and perhaps a layer norm on each chunk's row; then the linear head.

    Args:
        width: F.
        classes: C.
        dropout: on the merged row, while training.
        activation: a name of `longdoc.nn.layers.ACTIVATIONS`.
        row_dropout: on each chunk's row before the layer, while training.
        bias: whether the layer has one.
        norm: a layer norm after the activation, by its eps; None = none.
        norm_bias: whether that norm has a bias.
        per_token: whether the layer acts on each token's state before it is pooled (EuroBERT's "late").
    """

    linear_rows = False

    def __init__(
        self,
        width: int,
        classes: int,
        dropout: float = 0.1,
        activation: Activation = "tanh",
        row_dropout: float = 0.0,
        bias: bool = True,
        norm: float | None = None,
        norm_bias: bool = True,
        per_token: bool = False,
    ) -> None:
        super().__init__(width, classes, dropout)
        self.row_dropout = Dropout(row_dropout)
        self.dense = nn.Linear(width, width, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.norm = None if norm is None else nn.LayerNorm(width, eps=norm, bias=norm_bias)
        self.per_token = per_token
        nn.init.normal_(self.dense.weight, std=0.02)
        if bias:
            nn.init.zeros_(self.dense.bias)

    def transform(self, rows: Tensor) -> Tensor:
        """(..., F) -> (..., F), float32 or finer."""
        rows = self.activation(exact_linear(self.dense, self.row_dropout(exact(rows))))
        if self.norm is None:
            return rows
        weight, bias = (None if p is None else p.to(rows.dtype) for p in (self.norm.weight, self.norm.bias))
        return F.layer_norm(rows, self.norm.normalized_shape, weight, bias, self.norm.eps)

    def rows(self, hidden: Tensor, pool: Callable[[Tensor], Tensor]) -> Tensor:
        return pool(self.transform(hidden)) if self.per_token else self.transform(pool(hidden))


class DenseHeadConfig(Config):
    """A layer with an activation on each chunk's row, then dropout and one linear layer on the document's row."""

    kind: Literal["dense"] = "dense"
    activation: Activation = "tanh"
    """After the layer: `tanh` in RoBERTa, `gelu` in DeBERTa, ELECTRA and ModernBERT, `relu` in DistilBERT."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the document's row."""
    row_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on each chunk's row, before the layer."""
    bias: bool = True
    """Whether the layer has a bias."""
    norm: float | None = Field(default=None, gt=0)
    """The eps of a layer norm after the activation; null = no norm."""
    norm_bias: bool = True
    """Whether that norm has a bias."""
    per_token: bool = False
    """Whether the layer acts on each token's state, before pooling."""

    def build(self, width: int, classes: int) -> DenseHead:
        """The head for rows of `width` and `classes` scores."""
        return DenseHead(
            width,
            classes,
            self.dropout,
            self.activation,
            self.row_dropout,
            self.bias,
            self.norm,
            self.norm_bias,
            self.per_token,
        )

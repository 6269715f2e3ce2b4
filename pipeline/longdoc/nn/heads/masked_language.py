"""The head that guesses masked tokens as BERT (Devlin et al. 2019, arXiv 1810.04805) and most families have it."""

from __future__ import annotations

from typing import Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.heads.language import LanguageHead, quietening, silence
from longdoc.nn.layers import ACTIVATIONS, Activation
from longdoc.schema import Config

__all__ = ["MaskedLanguageHead", "MaskedLanguageHeadConfig"]


class MaskedLanguageHeadConfig(Config):
    """What such a head is made of, beside its sizes."""

    kind: Literal["dense"] = "dense"
    activation: Activation = "gelu"
    """After the layer."""
    norm_eps: float = Field(default=1e-12, gt=0)
    """Of the layer norm."""
    bias: bool = True
    """Whether the layer has a bias."""
    norm_bias: bool = True
    """Whether the layer norm has one."""
    output_bias: bool = True
    """Whether the last layer has one."""

    def build(self, width: int, vocab_size: int, inner: int | None = None) -> MaskedLanguageHead:
        """The head for states of `width` and a vocabulary."""
        return MaskedLanguageHead(
            width, vocab_size, self.activation, self.norm_eps, self.bias, self.norm_bias, self.output_bias, inner
        )


class MaskedLanguageHead(LanguageHead):
    """A layer with activation and norm on each state, then one score for each word.

    Args:
        width: D.
        vocab_size: V.
        activation: a name of `longdoc.nn.layers.ACTIVATIONS`.
        norm_eps: of the layer norm.
        bias, norm_bias, output_bias: whether the layer, the norm and the last layer have one.
        inner: width of the layer and of the words; None = `width` (ELECTRA's words are narrower).
    """

    def __init__(
        self,
        width: int,
        vocab_size: int,
        activation: Activation = "gelu",
        norm_eps: float = 1e-12,
        bias: bool = True,
        norm_bias: bool = True,
        output_bias: bool = True,
        inner: int | None = None,
    ) -> None:
        inner = width if inner is None else inner
        super().__init__(inner, vocab_size, output_bias)
        self.config = MaskedLanguageHeadConfig(
            activation=activation, norm_eps=norm_eps, bias=bias, norm_bias=norm_bias, output_bias=output_bias
        )
        self.dense = nn.Linear(width, inner, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(inner, eps=norm_eps, bias=norm_bias)

    def transform(self, hidden: Tensor) -> Tensor:
        return self.norm(self.activation(self.dense(hidden)))  # type: ignore[no-any-return]

    def begin(self, words: Tensor) -> None:
        """As in the plain head; the last layer is the words themselves, and the norm makes them quiet."""
        with torch.no_grad():
            nn.init.normal_(self.dense.weight, std=self.dense.in_features**-0.5)
            self.norm.weight.fill_(quietening(words))
            silence(self.dense)
            silence(self.output)
        self.output.weight = cast(nn.Parameter, words)

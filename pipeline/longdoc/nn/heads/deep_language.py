"""The head that guesses masked tokens as UltraBERT has it: two layers without biases, then one score for each word."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.heads.language import LanguageHead
from longdoc.nn.layers import ACTIVATIONS, Activation
from longdoc.schema import Config

__all__ = ["DeepLanguageHead", "DeepLanguageHeadConfig"]


class DeepLanguageHeadConfig(Config):
    """What such a head is made of, beside the sizes of the encoder."""

    kind: Literal["deep"] = "deep"
    inner: int = Field(default=768, ge=1, le=1 << 20)
    """Width between the two layers."""
    activation: Activation = "gelu_tanh"
    """After each of them."""

    def build(self, width: int, vocab_size: int, inner: int | None = None) -> DeepLanguageHead:
        """The head for states of `width` and a vocabulary."""
        return DeepLanguageHead(width, vocab_size, self.inner, self.activation)


class DeepLanguageHead(LanguageHead):
    """A layer to another width and one back, each with an activation, then one score for each word; no biases.

    Args:
        width: D.
        vocab_size: V.
        inner: the width between the layers.
        activation: a name of `longdoc.nn.layers.ACTIVATIONS`.
    """

    def __init__(self, width: int, vocab_size: int, inner: int = 768, activation: Activation = "gelu_tanh") -> None:
        super().__init__(width, vocab_size)
        self.config = DeepLanguageHeadConfig(inner=inner, activation=activation)
        self.first = nn.Linear(width, inner, bias=False)
        self.second = nn.Linear(inner, width, bias=False)
        self.activation = ACTIVATIONS[activation]

    def transform(self, hidden: Tensor) -> Tensor:
        return self.activation(self.second(self.activation(self.first(hidden))))

    def begin(self, words: Tensor) -> None:
        with torch.no_grad():
            for layer in (self.first, self.second):
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
        super().begin(words)

"""The plain head that guesses masked tokens: one score for each word from each state (EuroBERT). Others add to it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from longdoc.schema import Config

__all__ = ["LanguageHead", "LanguageHeadConfig"]


class LanguageHead(nn.Module):
    """One score for each word, from each state.

    Args:
        width: D.
        vocab_size: V.
        output_bias: whether the last layer has a bias.

    Attributes:
        config: what it is made of, beside its sizes.
        output: the last layer. Tie it to an encoder's words with `head.output.weight = encoder.word.weight`.
    """

    config: Config

    def __init__(self, width: int, vocab_size: int, output_bias: bool = False) -> None:
        super().__init__()
        self.config = LanguageHeadConfig(output_bias=output_bias)
        self.output = nn.Linear(width, vocab_size, bias=output_bias)

    def transform(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., E), what the last layer scores."""
        return hidden

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return self.output(self.transform(hidden))  # type: ignore[no-any-return]

    def begin(self, words: Tensor) -> None:
        """Set weights from which training starts, with first scores of about the size of 1 however loud the words are.

        Args:
            words: the encoder's word table (V, E). This head takes a copy, quietened where it is loud.
        """
        with torch.no_grad():
            if self.output.weight.shape == words.shape:
                self.output.weight.copy_(words * quietening(words))
            else:
                nn.init.normal_(self.output.weight, std=self.output.in_features**-0.5)
            silence(self.output)


class LanguageHeadConfig(Config):
    """What the plain head is made of, beside its sizes."""

    kind: Literal["plain"] = "plain"
    output_bias: bool = False
    """Whether the last layer has a bias."""

    def build(self, width: int, vocab_size: int, inner: int | None = None) -> LanguageHead:
        """The head for states of `width` and a vocabulary."""
        return LanguageHead(width, vocab_size, self.output_bias)


def quietening(words: Tensor) -> float:
    """The factor, at most 1, after which scores of words and states of the size 1 are about 1."""
    loudness = float(words.float().square().mean().sqrt()) * words.shape[1] ** 0.5
    return float(min(1.0, 1 / max(loudness, 1e-6)))


def silence(layer: nn.Linear) -> None:
    """A bias of zero, where there is one."""
    if layer.bias is not None:
        layer.bias.zero_()

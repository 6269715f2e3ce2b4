"""The head that guesses masked tokens: what encoders were pretrained with (Devlin et al. 2019, arXiv 1810.04805)."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.layers import ACTIVATIONS, Activation
from longdoc.schema import Config

__all__ = ["MaskedLanguageHead", "MaskedLanguageHeadConfig"]


class MaskedLanguageHeadConfig(Config):
    """What such a head is made of, beside its sizes."""

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


class MaskedLanguageHead(nn.Module):
    """A layer with activation and norm on each state, then one score for each word.

    Args:
        width: D.
        vocab_size: V.
        activation: a name of `longdoc.nn.layers.ACTIVATIONS`.
        norm_eps: of the layer norm.
        bias, norm_bias, output_bias: whether the layer, the norm and the last layer have one.
        inner: width of the layer and of the words; None = `width` (ELECTRA's words are narrower).

    Attributes:
        config: what it is made of.
        output: the last layer. Tie it to an encoder's words with `head.output.weight = encoder.word.weight`.
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
        super().__init__()
        self.config = MaskedLanguageHeadConfig(
            activation=activation, norm_eps=norm_eps, bias=bias, norm_bias=norm_bias, output_bias=output_bias
        )
        inner = width if inner is None else inner
        self.dense = nn.Linear(width, inner, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(inner, eps=norm_eps, bias=norm_bias)
        self.output = nn.Linear(inner, vocab_size, bias=output_bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        return self.output(self.norm(self.activation(self.dense(hidden))))  # type: ignore[no-any-return]

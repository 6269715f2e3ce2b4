"""The head that guesses masked tokens: what encoders were pretrained with (Devlin et al. 2019, arXiv 1810.04805)."""

from __future__ import annotations

from torch import Tensor, nn

from longdoc.nn.layers import ACTIVATIONS, Activation

__all__ = ["MaskedLanguageHead"]


class MaskedLanguageHead(nn.Module):
    """A layer with activation and norm on each state, then one score for each word.

    Args:
        width: D.
        vocab_size: V.
        activation: a name of `longdoc.nn.layers.ACTIVATIONS`.
        norm_eps: of the layer norm.
        bias, norm_bias, output_bias: whether the layer, the norm and the last layer have one.

    Attributes:
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
    ) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(width, eps=norm_eps, bias=norm_bias)
        self.output = nn.Linear(width, vocab_size, bias=output_bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """(N, L, D) -> (N, L, V)."""
        return self.output(self.norm(self.activation(self.dense(hidden))))  # type: ignore[no-any-return]

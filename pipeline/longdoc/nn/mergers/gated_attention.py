"""A learned weighting of a document's chunks whose scorer has a gate (Ilse et al. 2018, arXiv 1802.04712, eq. 9)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.exact import exact_linear
from longdoc.nn.mergers.attention import ScoredMerger
from longdoc.schema import Config

__all__ = ["GatedAttentionMerger", "GatedAttentionMergerConfig"]


class GatedAttentionMerger(ScoredMerger):
    """score = w . (tanh(V row) * sigmoid(U row)). Training starts from the mean of the chunks: w begins at 0.

    tanh is nearly linear around 0; the gate makes the score a product, so that one property of a chunk can decide
    whether another one counts.

    Args:
        width: F.
        hidden: width of the scorer.
    """

    def __init__(self, width: int, hidden: int = 128) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)
        for part in (self.inner, self.gate):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)
        nn.init.zeros_(self.score.weight)

    def scores(self, rows: Tensor) -> Tensor:
        gated = exact_linear(self.inner, rows).tanh() * exact_linear(self.gate, rows).sigmoid()
        return exact_linear(self.score, gated)[:, 0]


class GatedAttentionMergerConfig(Config):
    """A learned, gated weighting of the chunks, starting from their mean."""

    kind: Literal["gated_attention"] = "gated_attention"
    hidden: int = Field(default=128, ge=1, le=1 << 20)
    """Width of the layers that score chunks."""

    def build(self, width: int) -> GatedAttentionMerger:
        """The merger for rows of `width`."""
        return GatedAttentionMerger(width, self.hidden)

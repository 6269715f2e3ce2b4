"""Between the mean and the largest of a document's chunks (Pinheiro and Collobert 2015, arXiv 1411.6228, eq. 6)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.exact import exact
from longdoc.nn.mergers.base import Merger, chunk_shares, segment_max, segment_sum
from longdoc.schema import Config

__all__ = ["LogSumExpMerger", "LogSumExpMergerConfig"]


class LogSumExpMerger(Merger):
    """log(sum of share * exp(sharpness * value)) / sharpness, component by component.

    The shares are parts of the document's core tokens and add up to 1: one chunk is the document, repeating a text
    changes nothing, and overlapped text is not counted twice. Every chunk gets some gradient, the larger ones more.

    Args:
        sharpness: towards 0 it becomes the `mean`, towards infinity the `max` merger. A single chunk of share s reaches
            the document's value less log(1/s) / sharpness.
    """

    associative = True

    def __init__(self, sharpness: float = 1.0) -> None:
        super().__init__()
        if not sharpness > 0:
            raise UsageError(f"`sharpness` must be greater than 0, but is {sharpness} instead.")
        self.sharpness = sharpness

    def forward(
        self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, ordinals: Tensor | None = None
    ) -> Tensor:
        rows = exact(rows)
        shares = chunk_shares(weights, owner, documents)[:, None]
        heard = rows.masked_fill(shares == 0, -float("inf"))
        peak = segment_max(heard.detach(), owner, documents)
        peak = peak.masked_fill(peak == -float("inf"), 0.0)
        odds = segment_sum(shares * (self.sharpness * (heard - peak[owner])).exp(), owner, documents)
        return peak + odds.masked_fill(odds == 0, 1.0).log() / self.sharpness  # a document without chunks: 0

    def extra_repr(self) -> str:
        return f"sharpness={self.sharpness:g}"


class LogSumExpMergerConfig(Config):
    """A smooth maximum of the chunks: between their mean and the largest."""

    kind: Literal["logsumexp"] = "logsumexp"
    sharpness: float = Field(default=1.0, gt=0, le=1e3)
    """Towards 0 the mean of the chunks, the higher the closer to the largest."""

    def build(self, width: int) -> LogSumExpMerger:
        """The merger for rows of `width`."""
        return LogSumExpMerger(self.sharpness)

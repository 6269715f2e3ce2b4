"""The largest value of each component among a document's chunk rows."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from longdoc.nn.exact import exact
from longdoc.nn.mergers.base import WeightedMerger, chunk_shares, segment_max, segment_sum
from longdoc.schema import Config

__all__ = ["MaxMerger", "MaxMergerConfig"]


class MaxMerger(WeightedMerger):
    """Component by component. Chunks that tie share the gain evenly, whichever comes first."""

    associative = True

    def gains(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        values = exact(rows).detach()
        counts = (chunk_shares(weights, owner, documents) > 0)[:, None]
        best = segment_max(values.masked_fill(~counts, -torch.inf), owner, documents)
        won = (((values == best[owner]) | values.isnan()) & counts).to(values.dtype)  # NaN wins: a fault must show
        return won / segment_sum(won, owner, documents)[owner].clamp(min=1)


class MaxMergerConfig(Config):
    """The largest value of each component among the chunks: one passage is enough to say so."""

    kind: Literal["max"] = "max"

    def build(self, width: int) -> MaxMerger:
        """The merger for rows of `width`."""
        return MaxMerger()

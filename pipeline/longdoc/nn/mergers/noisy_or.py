"""A document says so if any of its chunks says so (Pearl 1988, "Probabilistic reasoning", section 4.3.2: noisy-or)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from longdoc.nn.exact import exact, wide
from longdoc.nn.mergers.base import Merger, chunk_shares, segment_max, segment_sum
from longdoc.schema import Config

__all__ = ["NoisyOrMerger", "NoisyOrMergerConfig"]

_FAINT = -20.0  # below this logit, probability and odds are the same in float32


class NoisyOrMerger(Merger):
    """P = 1 - product of (1 - p) over a document's chunks; logits in, the logit of P out, component by component.

    With s = sum of -log(1 - p) = sum of softplus(logit), the logit of P is log(exp(s) - 1). One chunk is the document.
    Chunks that agree are more than the document: each is one more chance to say so. The length of a chunk does not
    matter, only whether it has core tokens: with a pooling over core tokens no text has two chances.

    Computed in float64 and by logarithms where probabilities are small, so that a thousand chunks of logit -40 give
    -33.1 and no infinity.
    """

    averages = False
    associative = True
    quiet = -3.0  # chunks that start at 1/2 would make a long document certain of everything; at 1/20, of nothing

    def forward(
        self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, ordinals: Tensor | None = None
    ) -> Tensor:
        rows = exact(rows)
        heard = (chunk_shares(weights, owner, documents) > 0)[:, None]
        logits = wide(rows.masked_fill(~heard, -torch.inf))
        faint = logits < _FAINT  # log(softplus(x)) = x - exp(x) / 2 + ... there
        loud = F.softplus(logits.masked_fill(faint, 0.0), threshold=40.0).log()
        each = torch.where(faint, logits - logits.clamp(max=_FAINT).exp() / 2, loud)
        peak = segment_max(each.detach(), owner, documents)
        silent = peak == -torch.inf
        peak = peak.masked_fill(silent, 0.0)
        odds = segment_sum((each - peak[owner]).exp(), owner, documents).masked_fill(silent, 1.0)
        total = peak + odds.log()  # log of s
        faint = total < _FAINT
        s = total.masked_fill(faint, 0.0).exp()
        merged = torch.where(faint, total + total.clamp(max=_FAINT).exp() / 2, s + (-torch.expm1(-s)).log())
        return merged.masked_fill(silent, 0.0).to(rows.dtype)


class NoisyOrMergerConfig(Config):
    """A document says so if any chunk says so, each chunk being one independent chance."""

    labels_only: ClassVar[bool] = True
    kind: Literal["noisy_or"] = "noisy_or"

    def build(self, width: int) -> NoisyOrMerger:
        """The merger for rows of `width`."""
        return NoisyOrMerger()

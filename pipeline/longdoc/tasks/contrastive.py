"""The losses that bring alike documents together and others apart, from their vectors alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from longdoc.nn.exact import exact

__all__ = ["ContrastiveLoss", "PairLoss", "contrastive_losses", "mean_contrastive_loss"]

_BLOCK = 4_000_000  # elements of a table of cosines


def contrastive_losses(
    vectors: Tensor, groups: Tensor, temperature: float, asking: slice = slice(None), sides: Tensor | None = None
) -> Tensor:
    """Supervised contrastive loss, the sum outside of the logarithm (Khosla et al. 2020, arXiv 2004.11362, equation 2).

    Of each document: minus the mean, over the others of its group, of the logarithm of their share in the softmax of
    cosines over all others. 0 for a document without another of its group, and no gradient from it.

    Args:
        vectors: (B, D), of any length.
        groups: int64 (B,).
        temperature: what cosines are divided by.
        asking: which of the documents the losses are of.
        sides: bool (B,); where given, "all others" are those of the other side: questions learn from texts, and texts
            from questions. With one of each in a group that is the loss of in-batch negatives in both directions (van
            den Oord et al. 2018, arXiv 1807.03748; Radford et al. 2021, arXiv 2103.00020).

    Returns:
        (A,), float32 or finer, for the A documents that ask.
    """
    unit = F.normalize(exact(vectors), dim=1)
    cosines = unit[asking] @ unit.T / temperature
    numbers = torch.arange(len(unit), device=unit.device)
    others = numbers[asking, None] != numbers if sides is None else sides[asking, None] != sides
    alike = (groups[asking, None] == groups) & others
    told = cosines.masked_fill(~others, torch.finfo(cosines.dtype).min)  # not -inf: there may be no other at all
    shares = cosines - told.logsumexp(1, keepdim=True)
    return -shares.masked_fill(~alike, 0.0).sum(1) / alike.sum(1).clamp(min=1)


def mean_contrastive_loss(vectors: Tensor, groups: Tensor, temperature: float, sides: Tensor | None = None) -> float:
    """The mean of `contrastive_losses` over all documents as one batch, in bounded memory."""
    step = max(1, _BLOCK // max(1, len(vectors)))
    blocks = [slice(start, start + step) for start in range(0, len(vectors), step)]
    return float(torch.cat([contrastive_losses(vectors, groups, temperature, block, sides) for block in blocks]).mean())


class ContrastiveLoss:
    """Losses of the documents of a batch, each from all others of the batch."""

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature

    def __call__(self, scores: Tensor, targets: Sequence[Tensor]) -> Tensor:
        """(B, D) vectors and B groups -> (B,), float32 or finer."""
        return contrastive_losses(scores, torch.stack(list(targets)).to(scores.device), self.temperature)


class PairLoss(ContrastiveLoss):
    """Losses of questions and texts of a batch, each from those of the other side."""

    def __call__(self, scores: Tensor, targets: Sequence[Tensor]) -> Tensor:
        """(B, D) vectors and B times (pair, group, side) -> (B,), float32 or finer."""
        _, groups, sides = torch.stack(list(targets)).to(scores.device).unbind(1)
        return contrastive_losses(scores, groups, self.temperature, sides=sides.bool())

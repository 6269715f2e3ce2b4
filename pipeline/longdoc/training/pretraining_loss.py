"""Encoder and guessing head as one model, and its loss at the hidden tokens alone."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from longdoc.nn import Encoder
from longdoc.nn.heads import LanguageHead
from longdoc.training.pretraining_data import MaskedBatch
from longdoc.training.pretraining_masking import IGNORED

__all__ = ["Guesses", "MaskedLanguageModel"]


class Guesses(NamedTuple):
    """What was guessed in a batch: the sum of the losses, float32 (); how many were right, and how many there were."""

    loss: Tensor
    right: Tensor
    hidden: int


class MaskedLanguageModel(nn.Module):
    """An encoder and the head that guesses tokens from its states."""

    def __init__(self, encoder: Encoder, head: LanguageHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, masked: MaskedBatch) -> Guesses:
        """The cross-entropy of each hidden token, summed, in float32 or finer.

        Only their states go through the head: scores for the whole vocabulary exist for one token in seven or so.
        """
        batch = masked.batch
        asked = masked.targets != IGNORED
        hidden = self.encoder(batch.token_ids, batch.valid, batch.positions, batch.segments)
        scores = self.head(hidden[asked])
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        targets = masked.targets[asked]
        loss = F.cross_entropy(scores, targets, reduction="sum")
        return Guesses(loss, (scores.argmax(-1) == targets).sum(), len(targets))

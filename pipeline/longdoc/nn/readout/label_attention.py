"""Each label looks for its own tokens, over the whole document (Mullenbach et al. 2018, arXiv 1802.05695).

The scorer of tokens is that of Vu et al. 2020, "A label attention model for ICD coding" (arXiv 2007.06351):
score[t, k] = U[k] . tanh(V state[t]); a label's vector is the mean of the states, weighted by softmax over all core
tokens of the document; its logit is W[k] . vector + b[k].

Nothing has to wait for the whole document but two numbers a label and chunk: the logarithm of the chunk's sum of
exp(score), and the chunk's own weighted mean of W[k] . state[t]. The softmax over chunks of the first, times the
second, is the softmax over all tokens.

Shape letters: N chunks, L length, D width, B documents, C classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.nn.dropout import Dropout
from longdoc.nn.exact import exact, exact_linear
from longdoc.nn.mergers.base import chunk_shares, segment_softmax, segment_sum
from longdoc.nn.readout.base import DocumentReadout, ReadoutSettings
from longdoc.nn.readout.kept_states import KeptStates
from longdoc.nn.readout.tokens import core_rows
from longdoc.types import ChunkBatch

__all__ = ["LabelAttentionReadout", "LabelAttentionReadoutConfig"]


class LabelAttentionReadout(KeptStates, DocumentReadout):
    """One attention a label over the core tokens of the whole document. Every token counts once, in one chunk.

    Training starts from the mean of all core tokens: U begins at 0. A row holds 2 C numbers; or, while an encoder that
    does not learn is read once for many epochs, the states of its core tokens.

    Args:
        width: D.
        classes: C.
        hidden: width of the scorer of tokens.
        dropout: on the states whose mean is taken, while training.
    """

    def __init__(self, width: int, classes: int, hidden: int = 128, dropout: float = 0.1) -> None:
        super().__init__()
        self.classes = classes
        self.width = width
        self.head = None
        self.inner = nn.Linear(width, hidden)
        self.score = nn.Linear(hidden, classes, bias=False)
        self.output = nn.Linear(width, classes)
        self.dropout = Dropout(dropout)
        for part in (self.inner, self.output):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)
        nn.init.zeros_(self.score.weight)

    @property
    def row_width(self) -> int:  # type: ignore[override]
        """F, which depends on what is kept of a token."""
        return 1 + self.body * self.width if self.keeps_states else 2 * self.classes

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        if self.keeps_states:
            return core_rows(exact(hidden), batch, self.body)
        return self._heard(hidden, batch.core)

    def _heard(self, hidden: Tensor, core: Tensor) -> Tensor:
        """States (N, L, D) and which of them count -> (N, 2 C)."""
        silent = ~core.any(1, keepdim=True)  # (N, 1): nothing to answer for; its weight is 0
        scores, values = self._tokens(hidden, core)
        scores = scores.masked_fill(silent[..., None], 0.0)
        odds = scores.logsumexp(1)
        means = (scores.softmax(1) * values).sum(1)
        return torch.cat([odds.masked_fill(silent, 0.0), means.masked_fill(silent, 0.0)], dim=1)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        if self.keeps_states:
            states = rows[:, 1:].reshape(len(rows), self.body, self.width)
            rows = self._heard(states, torch.arange(self.body, device=rows.device) < weights[:, None])
        shares = self._chunk_shares(rows, owner, weights, documents)
        parts = (shares * rows[:, self.classes :]).masked_fill(shares == 0, 0.0)  # not 0 * NaN
        return segment_sum(parts, owner, documents) + self.output.bias.to(rows.dtype)

    def base(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        return self.output.bias.detach().to(rows.dtype).expand(documents, -1)

    def slopes(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, label: int) -> Tensor:
        slopes = torch.zeros_like(rows)
        slopes[:, self.classes + label] = self._chunk_shares(rows, owner, weights, documents)[:, label].detach()
        return slopes

    def token_contributions(self, hidden: Tensor, batch: ChunkBatch, slopes: Tensor, label: int) -> Tensor | None:
        scores, values = (part[..., label] for part in self._tokens(hidden, batch.core))
        silent = ~batch.core.any(1, keepdim=True)
        return scores.masked_fill(silent, 0.0).softmax(1) * values * slopes[:, self.classes + label, None]

    def _tokens(self, hidden: Tensor, core: Tensor) -> tuple[Tensor, Tensor]:
        """(N, L, C) each: scores, -inf outside core tokens; and W[k] . state, 0 there."""
        outside = ~core[..., None]
        states = exact(hidden).masked_fill(outside, 0.0)
        scores = exact_linear(self.score, exact_linear(self.inner, states).tanh()).masked_fill(outside, -torch.inf)
        with torch.autocast(hidden.device.type, enabled=False):
            return scores, self.dropout(states) @ self.output.weight.to(states.dtype).T

    def _chunk_shares(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(N, C): what part of each label's attention falls on a chunk. No share of length here: tokens are counted."""
        heard = (chunk_shares(weights, owner, documents) > 0).to(rows.dtype)
        return segment_softmax(rows[:, : self.classes], heard, owner, documents)


class LabelAttentionReadoutConfig(ReadoutSettings):
    """One attention a label over all core tokens of a document, starting from their mean."""

    kind: Literal["label_attention"] = "label_attention"
    hidden: int = Field(default=128, ge=1, le=1 << 20)
    """Width of the layer that scores tokens."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on the states that are scored."""

    def build(self, width: int, classes: int) -> LabelAttentionReadout:
        """The readout for an encoder of `width` and `classes` scores."""
        return LabelAttentionReadout(width, classes, self.hidden, self.dropout)

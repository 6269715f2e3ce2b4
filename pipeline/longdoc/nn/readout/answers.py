"""Scores of where the answer to a question begins and ends, for every chunk by itself.

A head gives two scores to each token (Devlin et al. 2019, arXiv 1810.04805, section 4.2): that the answer begins there
and that it ends there; those of the first token of the row, which belongs to neither text, say together that the answer
is not in this chunk. Begin and end of an answer are compared within one chunk, so a token that two chunks show has two
pairs of scores, and what becomes of them is decided afterwards.

Shape letters: N chunks, L length, D width, S rows of scores: of each chunk one row for "not here" and one for each
token of the document that it shows.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.exact import exact
from longdoc.nn.heads import HeadConfig, LinearHead, LinearHeadConfig
from longdoc.nn.readout.base import ReadoutSettings, ordinals_of
from longdoc.nn.readout.kept_states import KeptStates
from longdoc.types import ChunkBatch

__all__ = ["AnswersReadout", "AnswersReadoutConfig"]


class AnswersReadout(KeptStates):
    """A head on each token; two scores: the answer begins here, it ends here.

    A row holds the number of the chunk in its document, how many tokens of the document it shows, and the scores of
    its first token and of those, padded with zeros to the longest body; or, where rows are to outlast steps of the
    head, their states.

    Args:
        head: gives two scores to each token.
        longest: tokens of an answer.
        no_answer: whether a document may have none.
        listed: how many answers a prediction lists.
        whole_words: whether answers begin and end where words do.
    """

    head: LinearHead

    def __init__(self, head: LinearHead, longest: int, no_answer: bool, listed: int, whole_words: bool = True) -> None:
        super().__init__()
        self.head = head
        self.longest, self.no_answer, self.listed, self.whole_words = longest, no_answer, listed, whole_words
        self.classes = 2

    @property
    def row_width(self) -> int:  # type: ignore[override]
        """F, which depends on how long chunks are and on what is kept of a token."""
        return 2 + (1 + self.body) * self._values

    @property
    def _values(self) -> int:
        return self.head.output.in_features if self.keeps_states else self.classes

    @property
    def kept_tokens(self) -> str:
        return f"a first and {self.body} further tokens"

    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        states = exact(hidden)
        values = states if self.keeps_states else self._scores(states)
        _, length, width = values.shape
        most = min(self.body, length)
        places = torch.arange(most, device=values.device)
        sizes = batch.body.sum(1)
        index = (batch.body.to(torch.int8).argmax(1)[:, None] + places).clamp(max=length - 1)
        shown = values.gather(1, index[..., None].expand(-1, -1, width))
        shown = shown.masked_fill((places >= sizes[:, None])[..., None], 0.0)
        flat = torch.cat([values[:, :1], shown], dim=1).flatten(1)
        flat = nn.functional.pad(flat, (0, (self.body - most) * width))
        return torch.cat([torch.stack([ordinals_of(batch), sizes], dim=1).to(flat.dtype), flat], dim=1)

    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(S, 2), of the chunks of document 0 in the order of its text, then of 1 ..."""
        numbers, sizes = rows[:, :2].detach().round().to(torch.int64).unbind(1)
        order = torch.argsort(owner * (int(numbers.max()) + 1 if len(numbers) else 1) + numbers, stable=True)
        values = rows[order, 2:].reshape(len(rows), 1 + self.body, self._values)
        real = torch.arange(1 + self.body, device=rows.device) <= sizes[order, None]
        chosen = values[real]
        return self._scores(chosen) if self.keeps_states else chosen

    def _scores(self, states: Tensor) -> Tensor:
        return self.head.classify(self.head.transform(states))


class AnswersReadoutConfig(ReadoutSettings):
    """The best place in any chunk answers the question that stands before every chunk."""

    scored: ClassVar[Literal["documents", "tokens", "nothing"]] = "tokens"
    tokens_once: ClassVar[bool] = False
    token_model: ClassVar[Literal["tagger", "answerer"] | None] = "answerer"

    kind: Literal["answers"] = "answers"
    head: HeadConfig = LinearHeadConfig()
    """What scores each token, by its `kind`."""
    max_answer_tokens: int = Field(default=30, ge=1)
    """The longest answer. Up to `chunking.overlap` + 1 tokens no end of a chunk cuts it, wherever it stands."""
    no_answer: bool | None = None
    """Whether a document may have no answer. Null: as the training data have it."""
    listed: int = Field(default=20, ge=1)
    """How many of the best answers a prediction lists."""
    whole_words: bool = True
    """Whether answers begin and end where words do; in scripts without spaces every token is a word."""

    def build(self, width: int, classes: int) -> AnswersReadout:
        """The readout for an encoder of `width`.

        Raises:
            UsageError: `classes` is not 2.
        """
        if classes != 2:
            raise UsageError(f"`classes` must be 2 for answers, their begin and their end, but is {classes} instead.")
        no_answer = True if self.no_answer is None else self.no_answer
        return AnswersReadout(
            self.head.build(width, classes), self.max_answer_tokens, no_answer, self.listed, self.whole_words
        )

"""What every readout is: rows of chunks in one half, scores of documents in the other, and what each chunk gave.

Shape letters: N chunks, L length, D width of the encoder, F width of a row, B documents, C classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from longdoc.errors import UsageError
from longdoc.nn.heads import LinearHead
from longdoc.schema import Config
from longdoc.types import ChunkBatch

__all__ = ["DocumentReadout", "Readout", "ReadoutSettings", "ordinals_of"]


class Readout(nn.Module, ABC):
    """Turns the states of chunks into the scores of documents, in two halves with one seam, the rows.

    A row holds whatever the second half needs of a chunk; nobody else looks inside.

    Attributes:
        row_width: F.
        classes: C.
        head: the head whose layers a known family of checkpoints has; None where the readout is not made that way.
    """

    row_width: int
    classes: int
    head: LinearHead | None
    learns_rows = False
    """Whether `rows` uses parameters of the readout, so that rows must be computed anew after each step."""
    places_rows = True
    """Whether a row depends on where in its document the chunk stands, and not only on what the encoder was shown."""

    @abstractmethod
    def rows(self, hidden: Tensor, batch: ChunkBatch) -> Tensor:
        """Encoder states (N, L, D) -> one row a chunk (N, F), float32 or finer."""

    @abstractmethod
    def documents(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """Rows of whole documents (N, F) -> scores, float32 or finer: (B, C), or whatever the task takes.

        Args:
            rows: (N, F), all rows of each document, in any order.
            owner: int64 (N,), the document of each row.
            weights: (N,), core tokens of each chunk.
            documents: B.
        """

    condenses = False
    """Whether rows can be condensed."""

    def condensed(self, rows: Tensor, weights: Tensor) -> Tensor:
        """Some chunks of one document, as one row that is worth as much as theirs, so that they need not be kept.

        Args:
            rows: (n, F).
            weights: (n,), core tokens of each chunk. The new row has their sum.

        Returns:
            (G,), for `of_condensed`.

        Raises:
            UsageError: `condenses` is False.
        """
        raise UsageError(f"rows of {type(self).__name__} must be kept one by one, and cannot be condensed.")

    def of_condensed(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """As `documents`, of rows (N, G) that `condensed` gave. The numbers agree but for round-off."""
        return self.documents(rows, owner, weights, documents)

    def fit_chunks(self, body: int) -> None:
        """Hear how many document tokens a chunk may have, before the first row is made."""

    def keep_states(self, keep: bool) -> bool:
        """Make rows that need no parameter of the readout, or no longer so: they outlast its steps, but may be wider.

        Returns:
            Whether rows are such ones now; always so where `learns_rows` is False.
        """
        return not self.learns_rows

    def row_recipe(self) -> str:
        """What rows are made of beside the states, in a word: where it is the same, rows are the same.

        Raises:
            UsageError: rows depend on parameters that learn.
        """
        raise UsageError(f"rows of {type(self).__name__} must not depend on what it learns, to be kept, but do.")


class DocumentReadout(Readout):
    """A readout that gives each document a row of scores (B, C), and says what each chunk added to them."""

    exact_evidence = True
    """Whether a score is its base and what each chunk adds, to the last bit but round-off."""

    @abstractmethod
    def base(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int) -> Tensor:
        """(B, C): what documents of as many chunks score when no chunk says anything (in evaluation)."""

    def silenced(self, rows: Tensor, chosen: Tensor) -> Tensor:
        """(N, F), bool (N,) -> (N, F): the rows, of which the chosen ones say nothing, as all of them do in `base`."""
        return rows.masked_fill(chosen[:, None], 0.0)

    @abstractmethod
    def slopes(self, rows: Tensor, owner: Tensor, weights: Tensor, documents: int, label: int) -> Tensor:
        """(N, F): factors of the rows. A document's score of `label` is its base + the sum of slopes * rows.

        Exactly so where `exact_evidence`, else but for a small remainder. In evaluation; outside inference mode.
        """

    @abstractmethod
    def token_contributions(self, hidden: Tensor, batch: ChunkBatch, slopes: Tensor, label: int) -> Tensor | None:
        """What each token adds to the score of `label`.

        Args:
            hidden: (N, L, D), the states that `rows` was given.
            batch: their batch.
            slopes: (N, F), of these chunks, from `slopes` over all rows of their documents.

        Returns:
            (N, L), zero outside core tokens; a chunk's tokens sum to its slopes * row. None where that is no sum over
            tokens: `cls` pooling, or a head that is not linear in a chunk's row.
        """


class ReadoutSettings(Config):
    """The configuration of a readout; `build(width, classes)` makes it."""

    scored: ClassVar[Literal["documents", "tokens", "nothing"]] = "documents"
    """What it gives scores to: documents as a whole, or each of their tokens; nothing where it makes vectors."""
    tokens_once: ClassVar[bool] = True
    """Whether each token is scored in the one chunk where its context is widest; else in all that show it."""
    token_model: ClassVar[Literal["tagger", "answerer"] | None] = None
    """Which of the models that families of checkpoints have scores each token as its head does; None = none."""

    def score_names(self, labels: tuple[str, ...]) -> tuple[str, ...] | None:
        """What the scores are called, in their order; None where no family of checkpoints has such scores."""
        return labels


def ordinals_of(batch: ChunkBatch) -> Tensor:
    """int64 (N,): the number of each chunk in its document; counted in the order of the batch where it does not say."""
    if batch.ordinals is not None:
        return batch.ordinals
    same = batch.owner[:, None] == batch.owner
    return torch.tril(same, diagonal=-1).sum(1)

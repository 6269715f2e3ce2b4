"""Chunk rows become finished documents, in input order, whatever order the rows come home in.

Rows of one document are merged alone and in the order of its chunks, so the same document gets the same bits
whatever was computed beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from longdoc.errors import UsageError
from longdoc.types import DocumentFailure

__all__ = ["BLOCK", "Assembler", "Condense", "FinishedDocument"]

BLOCK = 1024
"""Neighbouring chunks that become one row where a document has more of them than that."""

Condense = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Rows (n, F) and weights (n,) of neighbouring chunks of one document -> one row (G,) for all of them."""


class _Block:
    """Rows of neighbouring chunks, until all of them are home.

    Args:
        size: how many there are.
        width: F.
    """

    def __init__(self, size: int, width: int) -> None:
        self.rows = torch.full((size, width), float("nan"))
        self.weights = torch.zeros(size)
        self.missing = size


@dataclass
class FinishedDocument:
    """All rows of one document, or the failure in its place.

    Attributes:
        key: the caller's number of the document.
        rows: float32 (n_chunks, F), in text order; of a condensed document one for each block of chunks.
        weights: float32, core tokens of each chunk, or block.
        condensed: whether rows stand for blocks of chunks.
        failure: set when the document has no answer; rows are then meaningless.
    """

    key: int
    n_chunks: int = 0
    rows: torch.Tensor | None = None
    weights: torch.Tensor = field(default_factory=lambda: torch.zeros(0))
    failure: DocumentFailure | None = None
    home: int = 0
    condensed: bool = False
    blocks: dict[int, _Block] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return self.failure is not None or self.home == self.n_chunks


class Assembler:
    """Collects rows until a document is whole and gives documents back in the order they were announced.

    Memory: the rows (F floats a chunk) of the documents that are announced and not yet given back; of documents with
    more than `BLOCK` chunks, where rows can be condensed, the blocks of which some rows are home.

    Args:
        condense: makes one row of those of a block; None = rows are kept one by one.
    """

    def __init__(self, condense: Condense | None = None) -> None:
        self._condense = condense
        self._waiting: deque[FinishedDocument] = deque()
        self._open: dict[int, FinishedDocument] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def expect(self, key: int, n_chunks: int) -> None:
        """Announce a document and how many rows it will have. The order of announcing is the order of results."""
        if key in self._open or n_chunks < 1:
            raise UsageError(f"document {key} must be announced once and with at least 1 chunk, but has {n_chunks}.")
        condensed = self._condense is not None and n_chunks > BLOCK
        rows = -(-n_chunks // BLOCK) if condensed else n_chunks
        document = FinishedDocument(key, n_chunks, weights=torch.zeros(rows), condensed=condensed)
        self._waiting.append(document)
        self._open[key] = document

    def fail(self, key: int, failure: DocumentFailure) -> None:
        """Put a failure in the place of document `key`, announced or not; rows that still come are ignored."""
        document = self._open.get(key)
        if document is None:
            document = FinishedDocument(key)
            self._waiting.append(document)
            self._open[key] = document
        document.failure = failure
        document.rows = None
        document.blocks.clear()

    def add(self, key: int, ordinal: int, row: torch.Tensor, weight: float) -> None:
        """Bring home row `ordinal` (F,) of document `key`; a row of a document that has failed is ignored."""
        document = self._open.get(key)
        if document is None or document.failure is not None:  # failed meanwhile, perhaps given back already
            return
        document.home += 1
        if document.condensed:
            self._add_to_block(document, ordinal, row, weight)
        else:
            self._place(document, ordinal, row, weight)

    def _add_to_block(self, document: FinishedDocument, ordinal: int, row: torch.Tensor, weight: float) -> None:
        number, place = divmod(ordinal, BLOCK)
        if number not in document.blocks:
            document.blocks[number] = _Block(min(BLOCK, document.n_chunks - number * BLOCK), row.shape[-1])
        block = document.blocks[number]
        block.rows[place] = row
        block.weights[place] = weight
        block.missing -= 1
        if not block.missing and self._condense is not None:
            self._place(document, number, self._condense(block.rows, block.weights), float(block.weights.sum()))
            del document.blocks[number]

    @staticmethod
    def _place(document: FinishedDocument, place: int, row: torch.Tensor, weight: float) -> None:
        if document.rows is None:
            document.rows = torch.full((len(document.weights), row.shape[-1]), float("nan"))
        document.rows[place] = row
        document.weights[place] = weight

    def finished(self) -> Iterator[FinishedDocument]:
        """Documents that are whole, in input order; stops at the first that still waits for rows."""
        while self._waiting and self._waiting[0].complete:
            document = self._waiting.popleft()
            del self._open[document.key]
            yield document

"""Chunk rows become finished documents, in input order, whatever order the rows come home in.

Rows of one document are merged alone and in the order of its chunks, so the same document gets the same bits
whatever was computed beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from longdoc.errors import UsageError
from longdoc.types import DocumentFailure

__all__ = ["Assembler", "FinishedDocument"]


@dataclass
class FinishedDocument:
    """All rows of one document, or the failure in its place.

    Attributes:
        key: the caller's number of the document.
        rows: float32 (n_chunks, F), in text order.
        weights: float32 (n_chunks,), core tokens of each chunk.
        failure: set when the document has no answer; rows are then meaningless.
    """

    key: int
    n_chunks: int = 0
    rows: torch.Tensor | None = None
    weights: torch.Tensor = field(default_factory=lambda: torch.zeros(0))
    failure: DocumentFailure | None = None
    home: int = 0

    @property
    def complete(self) -> bool:
        return self.failure is not None or self.home == self.n_chunks


class Assembler:
    """Collects rows until a document is whole and gives documents back in the order they were announced.

    Memory: the rows (F floats a chunk) of the documents that are announced and not yet given back.
    """

    def __init__(self) -> None:
        self._waiting: deque[FinishedDocument] = deque()
        self._open: dict[int, FinishedDocument] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def expect(self, key: int, n_chunks: int) -> None:
        """Announce a document and how many rows it will have. The order of announcing is the order of results."""
        if key in self._open or n_chunks < 1:
            raise UsageError(f"document {key} must be announced once and with at least 1 chunk, but has {n_chunks}.")
        document = FinishedDocument(key, n_chunks, weights=torch.zeros(n_chunks))
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

    def add(self, key: int, ordinal: int, row: torch.Tensor, weight: float) -> None:
        """Bring home row `ordinal` (F,) of document `key`; a row of a document that has failed is ignored."""
        document = self._open.get(key)
        if document is None or document.failure is not None:  # failed meanwhile, perhaps given back already
            return
        if document.rows is None:
            document.rows = torch.full((document.n_chunks, row.shape[-1]), float("nan"))
        document.rows[ordinal] = row
        document.weights[ordinal] = weight
        document.home += 1

    def finished(self) -> Iterator[FinishedDocument]:
        """Documents that are whole, in input order; stops at the first that still waits for rows."""
        while self._waiting and self._waiting[0].complete:
            document = self._waiting.popleft()
            del self._open[document.key]
            yield document

"""Documents in, the rows of their chunks out: in input order, in bounded memory, failures in their places.

What is made of a chunk (the model) and how a document becomes chunks (the preparation) are the caller's, so that
answers and vectors go the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from longdoc.assemble import Assembler, Condense
from longdoc.encoding import ChunkRow, RowModel, encode_batches
from longdoc.errors import UsageError
from longdoc.precision import Placement
from longdoc.readers import ArrowTable, is_table, table_documents
from longdoc.repeats import ChunkMemory, ChunkWalk
from longdoc.text.batching import BatchingConfig, PlannedBatch, plan_batches
from longdoc.text.chunking import PreparedDocument
from longdoc.types import Chunk, Document, DocumentFailure

__all__ = ["DocumentRows", "Prepare", "RowStream", "as_documents", "prepared_failure"]

_DOCUMENTS_AHEAD = 64
_CHARACTERS_AHEAD = 500_000

Prepare = Callable[[Sequence[Document]], Sequence[PreparedDocument | DocumentFailure]]
"""A few documents -> each of them with its chunks, or why it has none."""

KeepRow = Callable[[PreparedDocument, Chunk, torch.Tensor], torch.Tensor]
"""A document, a chunk of it and the chunk's row -> the part of the row that goes on to the document."""


@dataclass(frozen=True, repr=False)
class DocumentRows:
    """One document between the two halves of the model.

    Attributes:
        prepared: what is known of the document; its chunks are used up.
        rows: float32 (n_chunks, F), in text order, on the CPU.
        weights: float32 (n_chunks,), core tokens of each chunk.
        condensed: whether rows and weights are those of blocks of chunks, see `longdoc.assemble`.
    """

    prepared: PreparedDocument
    rows: torch.Tensor
    weights: torch.Tensor
    condensed: bool = False


@dataclass(frozen=True)
class RowStream:
    """The walk from documents to rows.

    Attributes:
        model: gives a row a chunk.
        prepare: cuts documents into chunks.
        size: tokens of a chunk at most.
        pad_id: for padding.
        batching, placement: how chunks are put side by side, and where they are computed.
        max_unknown_share: a document whose text lies under unknown tokens to a larger share fails.
        keep: what of a row goes on to the document; None = all of it. Called in no particular order of chunks.
        memory: the chunks that were met before, which are not encoded again; None = each chunk is.
        condense: makes one row of many where documents are very long; None = rows are kept one by one.
    """

    model: RowModel
    prepare: Prepare
    size: int
    pad_id: int
    batching: BatchingConfig
    placement: Placement
    max_unknown_share: float
    keep: KeepRow | None = None
    memory: ChunkMemory | None = None
    condense: Condense | None = None

    def rows(self, documents: Iterable[Document | DocumentFailure]) -> Iterator[DocumentRows | DocumentFailure]:
        """Each document's rows in the place of the document; a failure that comes in goes out unchanged.

        Memory: the read-ahead of `batching.read_ahead` tokens, the texts of at most 64 documents, and F floats for
        each chunk of a document that is not finished, unless they are condensed.
        """
        known: dict[int, PreparedDocument | DocumentFailure] = {}
        assembler = Assembler(self.condense)
        pairs = self._pairs(documents, known, assembler)
        found: list[ChunkRow] = []
        walk = None if self.memory is None else self.memory.begin()
        batches = self._batches(pairs, walk, found)
        for encoded in encode_batches(self.model, batches, self.pad_id, self.placement):
            for item in _all_alike(encoded, walk, found):
                prepared = known.get(item.owner)
                if not isinstance(prepared, PreparedDocument):
                    continue  # its document has failed meanwhile
                if item.row is not None:
                    row = item.row if self.keep is None else self.keep(prepared, item.chunk, item.row)
                    assembler.add(item.owner, item.chunk.ordinal, row, item.weight)
                elif item.reason is not None:
                    assembler.fail(item.owner, prepared_failure(prepared, item.reason, "encode", item.error))
            yield from _home(assembler, known)
        yield from _home(assembler, known)

    def _batches(
        self, pairs: Iterator[tuple[int, Chunk]], walk: ChunkWalk | None, found: list[ChunkRow]
    ) -> Iterator[PlannedBatch]:
        """Batches of the chunks that must be encoded; the rows of others, where they are known, go to `found`."""
        if walk is None:
            return plan_batches(pairs, self.size, self.batching, device=self.placement.device.type)

        def met(owner: int, chunk: Chunk) -> bool:
            row = walk.known(owner, chunk)
            if row is None:
                return walk.waits(owner, chunk)
            found.append(row)
            return True

        return plan_batches(pairs, self.size, self.batching, met, self.placement.device.type)

    def _pairs(
        self,
        documents: Iterable[Document | DocumentFailure],
        known: dict[int, PreparedDocument | DocumentFailure],
        assembler: Assembler,
    ) -> Iterator[tuple[int, Chunk]]:
        """Number the documents, announce them, and yield their chunks."""
        keys = itertools.count()
        for group in _groups(documents):
            fresh = iter(self.prepare([document for document in group if isinstance(document, Document)]))
            for document in group:
                key = next(keys)
                prepared = next(fresh) if isinstance(document, Document) else document
                if isinstance(prepared, PreparedDocument) and prepared.unknown_share > self.max_unknown_share:
                    prepared = prepared_failure(prepared, "unreadable", "tokenize", "", self._why_unreadable(prepared))
                known[key] = prepared
                if isinstance(prepared, DocumentFailure):
                    assembler.fail(key, prepared)
                    continue
                assembler.expect(key, prepared.n_chunks)
                chunks = iter(prepared.chunks)
                while True:
                    try:
                        chunk = next(chunks)
                    except StopIteration:
                        break
                    except Exception as error:  # a lazy second pass over the text failed
                        assembler.fail(key, prepared_failure(prepared, "unreadable", "tokenize", type(error).__name__))
                        break
                    yield key, chunk

    def _why_unreadable(self, prepared: PreparedDocument) -> str:
        return (
            f"{prepared.unknown_share:.1%} of the characters lie under tokens that the tokenizer does not know; "
            f"`prediction.max_unknown_share` allows {self.max_unknown_share:.1%}."
        )


def as_documents(
    documents: Iterable[str | Document | DocumentFailure] | ArrowTable, text_column: str | None = None
) -> Iterator[Document | DocumentFailure]:
    """Each item as a document; texts are called `0`, `1`, ... by their place.

    Args:
        text_column: of a table, what holds the texts; None = `text`.

    Raises:
        UsageError: at once for a wrong `documents`; for an item that is none when its turn comes.
    """
    if isinstance(documents, str | bytes | Document | DocumentFailure | Mapping):
        raise UsageError("`documents` must be a list of texts or documents, but is a single one. Wrap it in a list.")
    if is_table(documents):
        return table_documents(documents, text_column)
    if text_column is not None:
        raise UsageError(
            "`text_column` belongs to tables, but `documents` is none. Leave it out, or pass a data frame, an Arrow "
            "table or a dataset."
        )
    if not isinstance(documents, Iterable):
        raise UsageError(
            f"`documents` must be a list of texts or documents, but is {type(documents).__name__} instead."
        )
    return _numbered(documents)


def _numbered(documents: Iterable[str | Document | DocumentFailure]) -> Iterator[Document | DocumentFailure]:
    for number, item in enumerate(documents):
        if isinstance(item, str):
            yield Document(id=str(number), text=item)
        elif isinstance(item, Document | DocumentFailure):
            yield item
        else:
            raise UsageError(
                f"a document must be a string or a Document, but item {number} is {type(item).__name__} instead."
            )


def prepared_failure(
    prepared: PreparedDocument, reason: Any, stage: str, error: str = "", detail: str = ""
) -> DocumentFailure:
    """The failure of a document of which tokens and chunks are known."""
    return DocumentFailure(
        id=prepared.id,
        reason=reason,
        stage=stage,
        error=error,
        detail=detail,
        n_tokens=prepared.n_tokens,
        n_chunks=prepared.n_chunks,
        unknown_share=prepared.unknown_share,
    )


def _all_alike(encoded: list[ChunkRow], walk: ChunkWalk | None, found: list[ChunkRow]) -> Iterator[ChunkRow]:
    """Rows that were computed, each with those that it answers for, and the ones that were found meanwhile."""
    for row in encoded:
        yield from (row,) if walk is None else walk.home(row)
    while found:
        yield found.pop()


def _home(
    assembler: Assembler, known: dict[int, PreparedDocument | DocumentFailure]
) -> Iterator[DocumentRows | DocumentFailure]:
    """Documents whose rows are all home, with what was known of them."""
    for finished in assembler.finished():
        prepared = known.pop(finished.key)
        if finished.failure is not None:
            yield finished.failure
        elif isinstance(prepared, PreparedDocument) and finished.rows is not None:
            yield DocumentRows(prepared, finished.rows, finished.weights, finished.condensed)


def _groups(documents: Iterable[Document | DocumentFailure]) -> Iterator[list[Document | DocumentFailure]]:
    """Small groups, so that the tokenizer works on several texts at once and memory stays bounded."""
    group: list[Document | DocumentFailure] = []
    characters = 0
    for document in documents:
        group.append(document)
        characters += len(document.text) if isinstance(document, Document) else 0
        if len(group) >= _DOCUMENTS_AHEAD or characters >= _CHARACTERS_AHEAD:
            yield group
            group, characters = [], 0
    if group:
        yield group

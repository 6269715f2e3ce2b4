"""The documents of a comparison as one amount of text gives them: tokens, chunks and rows, for every strategy."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.text.chunking import PreparedDocument
from longdoc.training.data import Example
from longdoc.training.frozen_rows import FrozenRows
from longdoc.training.rows_on_disk import rows_of
from longdoc.types import Document, DocumentFailure

__all__ = ["GivenRows", "Parts", "PartsRead", "Rows", "as_wide", "count_parts", "read_parts", "tokens_computed"]

Rows = list[DocumentRows | DocumentFailure]
Prepared = list[PreparedDocument | DocumentFailure]
Parts = tuple[Sequence[Document], Sequence[Document], Sequence[Document]]
"""Training, validation and test documents."""

_SAMPLE = 20_000  # tokens that tell how fast documents are read, where their rows were found on disk


@dataclass(frozen=True)
class PartsRead:
    """What is known of the three parts.

    Attributes:
        prepared: tokens and chunks of each document.
        rows: of chunks, for strategies that share them; None where there are none.
        seconds: that the test documents took.
    """

    prepared: tuple[Prepared, Prepared, Prepared]
    rows: tuple[Rows, Rows, Rows] | None
    seconds: float


def read_parts(pipeline: Pipeline, parts: Parts, folder: str | None) -> PartsRead:
    """Encode all documents; with a folder, what is in it is not encoded again."""
    train, validation, test = parts
    kept = Path(folder) if folder else None
    earlier = list(rows_of(pipeline, [*train, *validation], kept))
    started = time.perf_counter()
    last = list(rows_of(pipeline, test, kept))
    seconds = time.perf_counter() - started if kept is None else _reading_time(pipeline, test, last)
    rows = earlier[: len(train)], earlier[len(train) :], last
    known = [[item.prepared if isinstance(item, DocumentRows) else item for item in part] for part in rows]
    return PartsRead((known[0], known[1], known[2]), rows, seconds)


def count_parts(pipeline: Pipeline, parts: Parts) -> PartsRead:
    """Cut all documents into chunks and encode nothing."""
    train, validation, test = (list(pipeline.prepare(part)) for part in parts)
    return PartsRead((train, validation, test), None, 0.0)


def tokens_computed(prepared: Prepared, pipeline: Pipeline) -> int:
    """The tokens that an encoder computes for documents, overlaps and special tokens included."""
    chunking, specials = pipeline.settings.chunking, pipeline.tokenizer.specials
    total = 0
    for document in prepared:
        if isinstance(document, PreparedDocument):
            overlaps = chunking.overlap * (document.n_chunks - 1) if chunking.keep == "all" else 0
            total += document.tokens_read + overlaps + specials * document.n_chunks
    return total


class GivenRows(FrozenRows):
    """Rows that were computed before, for every strategy that reads as much."""

    def __init__(self, pipeline: Pipeline, train: Rows, validation: Rows) -> None:
        super().__init__(pipeline)
        self._given, self.validation = train, validation

    def compute(
        self,
        examples: Sequence[Example],
        train: Sequence[Document],
        validation: Sequence[Document],
        tell: Callable[[int, int], None],
    ) -> None:
        rows = [self._given[example.number] for example in examples]
        self.train = [item for item in rows if isinstance(item, DocumentRows)]


def as_wide(rows: Rows, pipeline: Pipeline) -> Rows:
    """Rows with the numbers of their chunks behind them, where the merger asks for them."""
    if not getattr(pipeline.model.readout, "merger", None) or not pipeline.model.readout.merger.ordered:  # type: ignore[union-attr]
        return rows
    return [
        replace(item, rows=torch.cat([item.rows, torch.arange(len(item.rows))[:, None].to(item.rows.dtype)], dim=1))
        if isinstance(item, DocumentRows)
        else item
        for item in rows
    ]


def _reading_time(pipeline: Pipeline, documents: Sequence[Document], rows: Rows) -> float:
    """Seconds that reading documents takes, by the first of them: all were perhaps read long ago."""
    tokens = [item.prepared.tokens_read if isinstance(item, DocumentRows) else 0 for item in rows]
    first = next((n for n, total in enumerate(itertools.accumulate(tokens), 1) if total >= _SAMPLE), len(tokens))
    started = time.perf_counter()
    for _ in pipeline.stream_rows(documents[:first]):
        pass
    return (time.perf_counter() - started) * sum(tokens) / max(1, sum(tokens[:first]))

"""What encoders with different position encodings are compared on: two tasks where order decides, and real documents.

The synthetic tasks have the same bag of tokens for every label, so an encoder without position can only guess. What
decides is said several times in a row, which lets small encoders learn it in minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longdoc.checkpoints import resolve_checkpoint
from longdoc.readers import load_labelled
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Document

__all__ = ["SYNTHETIC", "VOCABULARY", "DocumentRows", "Rows", "chance", "distances", "document_rows", "roles"]

_FILLERS = 40
_EVENTS, _ROOM = 6, 16
_FIRST, _SECOND, _VERB, _MARKS = 0, 1, 2, 3
_START = _MARKS + _EVENTS
VOCABULARY = _START + 1 + _FILLERS


@dataclass(frozen=True)
class Rows:
    """Rows of tokens with one label each. `valid` is None where every row is full."""

    token_ids: Tensor
    labels: Tensor
    valid: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[Rows]:
        order = torch.arange(len(self)) if order is None else order
        for members in torch.split(order, size):
            yield Rows(
                self.token_ids[members], self.labels[members], None if self.valid is None else self.valid[members]
            )


Task = Callable[[np.random.Generator, int, int], Rows]


def roles(generator: np.random.Generator, rows: int, length: int) -> Rows:
    """Who did it to whom: two names around a verb, in either order, several times anywhere among fillers.

    Label 0: the first name acts (stands before the verb) each time; label 1: it is acted on each time.
    """
    tokens = _fillers(generator, rows, length)
    labels = generator.integers(0, 2, rows)
    for row, label in enumerate(labels):
        names = (_FIRST, _SECOND) if label == 0 else (_SECOND, _FIRST)
        for start, end in _places(generator, length):
            first, second = np.sort(generator.choice(min(6, end - start - 1), 2, replace=False)) + 1
            at = generator.integers(start, end - second)
            tokens[row, [at, at + first, at + second]] = names[0], _VERB, names[1]
    return Rows(torch.from_numpy(tokens), torch.from_numpy(labels))


def distances(generator: np.random.Generator, rows: int, length: int) -> Rows:
    """How far apart two equal marks stand: 1, 2, 3 to 4, 5 to 8 or 9 to 15 tokens; pairs of several marks anywhere."""
    tokens = _fillers(generator, rows, length)
    labels = generator.integers(0, 5, rows)
    for row, label in enumerate(labels):
        low, high = 2**label // 2 + 1, min(2**label, 15)
        for number, (start, end) in enumerate(_places(generator, length)):
            apart = generator.integers(low, high + 1)
            at = generator.integers(start, end - apart)
            tokens[row, [at, at + apart]] = _MARKS + number
    return Rows(torch.from_numpy(tokens), torch.from_numpy(labels))


def _places(generator: np.random.Generator, length: int) -> list[tuple[int, int]]:
    """Ranges of a row, apart, of which each holds one event. As many in a row of any length, so that a longer one is
    no easier."""
    count = max(1, min(_EVENTS, (length - 1) // _ROOM))
    slots = np.sort(generator.choice((length - 1) // _ROOM, count, replace=False))
    return [(1 + int(slot) * _ROOM, 1 + int(slot) * _ROOM + _ROOM) for slot in slots]


SYNTHETIC: dict[str, tuple[Task, int]] = {"roles": (roles, 2), "distances": (distances, 5)}
"""Name -> the task and its number of labels."""


def _fillers(generator: np.random.Generator, rows: int, length: int) -> NDArray[np.int64]:
    tokens = generator.integers(_START + 1, VOCABULARY, (rows, length))
    tokens[:, 0] = _START
    return tokens


@dataclass(frozen=True)
class DocumentRows:
    """A corpus of real documents as rows: those to learn from, those held out, and how many labels and words."""

    train: Rows
    held_out: Rows
    classes: int
    vocabulary: int

    def step(self, seed: int, batch: int) -> Callable[[int], Rows]:
        def rows(step: int) -> Rows:
            members = torch.from_numpy(np.random.default_rng([seed, step]).integers(0, len(self.train), batch))
            return next(self.train.batches(batch, members))

        return rows

    def test(self, length: int) -> Rows:
        return self.held_out


@lru_cache(maxsize=2)
def document_rows(folder: Path, length: int) -> DocumentRows:
    """The corpus as rows: the first `length` tokens of each text. Word pieces that occur once or never share a row."""
    tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint("default"))
    parts = [load_labelled([folder / f"{name}.jsonl"]) for name in ("train", "test")]
    labels = sorted({document.label or "" for document in parts[0]})
    ids = [[next(tokenizer.segments(document.text)).token_ids[:length] for document in part] for part in parts]
    counts = np.bincount(np.concatenate(ids[0]), minlength=tokenizer.vocab_size)
    number = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    number[counts > 1] = np.arange(1, (counts > 1).sum() + 1)

    def rows(documents: Sequence[Document], encoded: Sequence[NDArray[np.int32]]) -> Rows:
        kept = [n for n, document in enumerate(documents) if document.label in labels]
        token_ids = torch.zeros(len(kept), length, dtype=torch.int64)
        valid = torch.zeros(len(kept), length, dtype=torch.bool)
        for row, n in enumerate(kept):
            token_ids[row, : len(encoded[n])] = torch.from_numpy(number[encoded[n]])
            valid[row, : len(encoded[n])] = True
        return Rows(token_ids, torch.tensor([labels.index(documents[n].label or "") for n in kept]), valid)

    train, test = (rows(documents, encoded) for documents, encoded in zip(parts, ids, strict=True))
    return DocumentRows(train, test, len(labels), int(number.max()) + 1)


def chance(data: Path | None = None) -> dict[str, float]:
    """Accuracy of guessing, by task: any label, and for real documents the label that most of the test has."""
    guesses = {task: 1 / classes for task, (_, classes) in SYNTHETIC.items()}
    if data is not None:
        labels = [document.label for document in load_labelled([data / "test.jsonl"])]
        guesses["documents"] = max(map(labels.count, labels)) / len(labels)
    return guesses

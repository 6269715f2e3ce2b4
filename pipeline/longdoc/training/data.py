"""Labelled documents as training examples, and the order in which epochs visit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from longdoc.errors import DataError, UsageError
from longdoc.text.chunking import Chunker, PreparedDocument, prepare_many
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.types import Chunk, Document, Task, short_digest

__all__ = ["EpochSampler", "Example", "build_examples", "collect_labels", "encode_targets"]


@dataclass(frozen=True, repr=False)
class Example:
    """One document ready for training: all of its chunks, nothing truncated.

    Attributes:
        id: the document's.
        chunks: every chunk that is read.
        target: int64 () for a single label, float32 (C,) for many, float32 () for a number.
        tokens: tokens that the encoder computes for it, special tokens and overlap included.
    """

    id: str
    chunks: tuple[Chunk, ...]
    target: torch.Tensor
    tokens: int

    def __repr__(self) -> str:
        return f"Example(id=#{short_digest(self.id)}, chunks={len(self.chunks)}, tokens={self.tokens})"


def collect_labels(documents: Sequence[Document], task: Task) -> tuple[str, ...]:
    """The label names that occur, sorted; `("value",)` for regression.

    Raises:
        DataError: documents without the field that the task needs, counted, with the first few places.
    """
    field = {"single_label": "label", "multi_label": "labels", "regression": "target"}[task]
    missing = [number for number, document in enumerate(documents) if getattr(document, field) is None]
    if missing:
        shown = ", ".join(str(number + 1) for number in missing[:10])
        raise DataError(
            f"`model.task: {task}` needs the field `{field}` in every training document, but {len(missing)} of "
            f"{len(documents)} have none (numbers {shown}). Map it with `read.fields.{field}` or set `model.task`."
        )
    if task == "regression":
        return ("value",)
    if task == "single_label":
        labels = {document.label for document in documents if document.label is not None}
    else:
        labels = {label for document in documents for label in document.labels or ()}
    if task == "single_label" and len(labels) < 2:
        raise DataError(
            f"`model.task: single_label` needs at least 2 different labels, but the data have {len(labels)}."
        )
    if not labels:
        raise DataError("`model.task: multi_label` needs at least 1 label, but the data have none.")
    return tuple(sorted(labels))


def encode_targets(documents: Sequence[Document], labels: Sequence[str], task: Task) -> list[torch.Tensor]:
    """One target a document, in the form that the loss takes.

    Raises:
        DataError: labels that the model does not know, or a missing field.
    """
    index = {label: number for number, label in enumerate(labels)}
    unknown: Counter[str] = Counter()
    missing = 0
    targets: list[torch.Tensor] = []
    for document in documents:
        if task == "regression":
            if document.target is None:
                missing += 1
            targets.append(torch.tensor(float(document.target or 0.0)))
        elif task == "single_label":
            if document.label is None:
                missing += 1
            elif document.label not in index:
                unknown[document.label] += 1
            targets.append(torch.tensor(index.get(document.label or "", 0)))
        else:
            if document.labels is None:
                missing += 1
            row = torch.zeros(len(labels))
            for label in document.labels or ():
                if label in index:
                    row[index[label]] = 1.0
                else:
                    unknown[label] += 1
            targets.append(row)
    if missing or unknown:
        names = ", ".join(repr(label) for label, _ in unknown.most_common(5))
        raise DataError(
            f"every document must carry an answer that the model knows, but {missing} have none and "
            f"{sum(unknown.values())} carry one of {len(unknown)} unknown labels{f' ({names})' if names else ''}. "
            "Correct the data, or list all labels in `model.labels`."
        )
    return targets


def build_examples(
    documents: Sequence[Document], tokenizer: DocumentTokenizer, chunker: Chunker, labels: Sequence[str], task: Task
) -> tuple[list[Example], list[str]]:
    """Tokenize and chunk labelled documents.

    Returns:
        The examples, and the ids of documents without a single token: nothing to train on, and the caller says so.
    """
    targets = encode_targets(documents, labels, task)
    examples: list[Example] = []
    empty: list[str] = []
    for start in range(0, len(documents), 64):
        group = documents[start : start + 64]
        for document, target, prepared in zip(
            group, targets[start : start + 64], prepare_many(group, tokenizer, chunker), strict=True
        ):
            if not isinstance(prepared, PreparedDocument):
                empty.append(document.id)
                continue
            chunks = tuple(prepared.chunks)
            examples.append(Example(document.id, chunks, target, sum(len(chunk) for chunk in chunks)))
    if not examples:
        raise DataError(f"training needs at least 1 document with text, but none of {len(documents)} has a token.")
    return examples, empty


class EpochSampler:
    """The order of documents: a pure function of seed and epoch, so that a resumed run continues as it would have.

    Args:
        sizes: tokens of each example; the documents of a step are dealt to processes so that their work is even.
        batch_size: documents of a step on one process.
        seed: of the permutation.
        processes, rank: how many processes share a step, and which one this is.
    """

    def __init__(self, sizes: Sequence[int], batch_size: int, seed: int, processes: int = 1, rank: int = 0) -> None:
        if not 0 <= rank < processes:
            raise UsageError(f"`rank` must be in [0, {processes}), but is {rank} instead.")
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.batch_size = batch_size
        self.seed = seed
        self.processes = processes
        self.rank = rank

    @property
    def steps(self) -> int:
        """Steps of an epoch, the same on every process."""
        return -(-len(self.sizes) // (self.batch_size * self.processes))

    def epoch(self, epoch: int) -> list[tuple[list[int], int]]:
        """For each step: the examples of this process, and how many documents the step has over all processes."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.sizes))
        width = self.batch_size * self.processes
        return [
            (self._deal(order[start : start + width].tolist()), len(order[start : start + width]))
            for start in range(0, len(order), width)
        ]

    def _deal(self, members: list[int]) -> list[int]:
        """Longest first, each to the process with the least work so far."""
        work = [0] * self.processes
        hands: list[list[int]] = [[] for _ in range(self.processes)]
        for member in sorted(members, key=lambda m: (-int(self.sizes[m]), m)):
            lightest = min(range(self.processes), key=lambda p: (work[p], p))
            work[lightest] += int(self.sizes[member])
            hands[lightest].append(member)
        return sorted(hands[self.rank])

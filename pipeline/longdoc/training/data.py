"""Labelled documents as training examples, and the order in which epochs visit them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from longdoc.errors import DataError, UsageError, counted
from longdoc.launched import speaks_for_all
from longdoc.nn.readout import Readout
from longdoc.tasks import Task
from longdoc.tasks.gold import which
from longdoc.text.chunking import Chunker, PreparedDocument, prepare_many
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.training.twos import in_twos, twos_of
from longdoc.types import Chunk, Document, short_digest

__all__ = [
    "EpochSampler",
    "Example",
    "Step",
    "build_examples",
    "check_readable",
]

_GROUP = 64
_LEFT_OUT = {"empty": "without a token", "unreadable": "that the tokenizer hardly knows"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Example:
    """One document ready for training: all of its chunks, nothing truncated.

    Attributes:
        number: of the document among those that were given, from 0.
        id: the document's.
        chunks: every chunk that is read.
        target: what the task's loss compares with the document's scores.
        tokens: tokens that the encoder computes for it, special tokens and overlap included.
    """

    number: int
    id: str
    chunks: tuple[Chunk, ...]
    target: torch.Tensor
    tokens: int

    def __repr__(self) -> str:
        return f"Example(id=#{short_digest(self.id)}, chunks={len(self.chunks)}, tokens={self.tokens})"


def build_examples(
    documents: Sequence[Document],
    tokenizer: DocumentTokenizer,
    chunker: Chunker,
    labels: Sequence[str],
    task: Task,
    max_unknown_share: float = 1.0,
    readout: Readout | None = None,
) -> tuple[list[Example], Counter[str]]:
    """Tokenize and chunk labelled documents.

    Args:
        max_unknown_share: what a document may have of unknown characters, as in predictions: what would not be
            answered is not learned from.
        readout: of the model, which some tasks ask how their targets look.

    Returns:
        The examples, and how many documents were left out for which reason; which ones they are is logged. What of
        their right answers cannot be learned as it is, is logged with its number.

    Raises:
        DataError: no document is left.
    """
    task.check_gold(documents, labels, "evaluation")
    examples: list[Example] = []
    left: dict[str, list[int]] = {}
    misfits: Counter[str] = Counter()
    why = ""
    for start in range(0, len(documents), _GROUP):
        group = documents[start : start + _GROUP]
        for number, (document, prepared) in enumerate(
            zip(group, task.prepare(group, tokenizer, chunker), strict=True), start
        ):
            if not isinstance(prepared, PreparedDocument):
                left.setdefault(prepared.reason, []).append(number)
                why = why or prepared.detail
            elif prepared.unknown_share > max_unknown_share:
                left.setdefault("unreadable", []).append(number)
            else:
                chunks = tuple(prepared.chunks)
                tokens = sum(len(chunk) for chunk in chunks)
                target = task.target(document, labels, prepared.tokens, readout)
                misfits.update(task.misfits(document, labels, prepared.tokens, readout))
                examples.append(Example(number, document.id, chunks, target, tokens))
    left_out = Counter({reason: len(numbers) for reason, numbers in left.items()})
    if not examples:
        raise DataError(
            f"training needs at least 1 document that can be read, but none of {len(documents)} can: "
            f"{_reasons(left_out, why)}"
        )
    for reason, numbers in left.items():
        if speaks_for_all():
            noun = counted(len(numbers), "training document")
            fate = _LEFT_OUT.get(reason, f"that cannot be read ({reason})")
            _log.warning("%s %s, left out: %s.", noun, fate, which(numbers, documents))
    for what, count in misfits.items():
        if count:
            _log.warning("%s: %d", what, count)
    return examples, left_out


def check_readable(
    documents: Sequence[Document],
    tokenizer: DocumentTokenizer,
    chunker: Chunker,
    max_unknown_share: float,
    task: Task | None = None,
) -> None:
    """Refuse validation documents of which not one can be answered. Tokenizes up to the first that can.

    Raises:
        DataError: there is none.
    """
    prepare = prepare_many if task is None else task.prepare
    left_out: Counter[str] = Counter()
    why = ""
    for start in range(0, len(documents), _GROUP):
        for prepared in prepare(documents[start : start + _GROUP], tokenizer, chunker):
            if not isinstance(prepared, PreparedDocument):
                left_out[prepared.reason] += 1
                why = why or prepared.detail
            elif prepared.unknown_share > max_unknown_share:
                left_out["unreadable"] += 1
            else:
                return
    raise DataError(
        f"validation needs at least 1 document that can be answered, but none of {len(documents)} can: "
        f"{_reasons(left_out, why)}"
    )


def _reasons(left_out: Counter[str], why: str) -> str:
    """In one or two sentences; `why` is what is said of the first document, and serves if all have one reason."""
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
    return f"{counts}. The first of them: {why}" if why and len(left_out) == 1 else f"{counts}."


@dataclass(frozen=True)
class Step:
    """The documents of one step of the optimiser.

    Attributes:
        batches: the examples of this process, batch by batch; a batch may be empty.
        members: the examples of all processes.
        share: of the epoch that is over after it, in (0, 1].
    """

    batches: tuple[tuple[int, ...], ...]
    members: tuple[int, ...]
    share: float


class EpochSampler:
    """The order of documents: a pure function of seed and epoch, so that a resumed run continues as it would have.

    Args:
        sizes: tokens of each example; the documents of a step are dealt to processes so that their work is even.
        batch_size: documents of a step on one process.
        seed: of the permutation.
        processes, rank: how many processes share a step, and which one this is.
        groups: of each example; those of one group then come in twos, which one process gets. None = each for itself.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        batch_size: int,
        seed: int,
        processes: int = 1,
        rank: int = 0,
        groups: Sequence[int] | None = None,
    ) -> None:
        if not 0 <= rank < processes:
            raise UsageError(f"`rank` must be in [0, {processes}), but is {rank} instead.")
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.batch_size = batch_size
        self.seed = seed
        self.processes = processes
        self.rank = rank
        self.groups = groups

    @property
    def steps(self) -> int:
        """Steps of an epoch, the same on every process."""
        return -(-len(self.sizes) // (self.batch_size * self.processes))

    def epoch(self, epoch: int) -> list[tuple[list[int], int]]:
        """For each step: the examples of this process, and how many documents the step has over all processes."""
        order = self._order(epoch)
        width = self.batch_size * self.processes
        return [
            (self._deal(order[start : start + width])[self.rank], len(order[start : start + width]))
            for start in range(0, len(order), width)
        ]

    def optimiser_steps(self, epoch: int, accumulated: int) -> list[Step]:
        """An epoch in steps of `accumulated` batches on every process; the last may have fewer."""
        order = self._order(epoch)
        batches, width = self.epoch(epoch), self.batch_size * self.processes
        return [
            Step(
                tuple(tuple(members) for members, _ in batches[start : start + accumulated]),
                tuple(order[start * width : (start + accumulated) * width]),
                min(start + accumulated, self.steps) / self.steps,
            )
            for start in range(0, self.steps, accumulated)
        ]

    def _order(self, epoch: int) -> list[int]:
        order: list[int] = np.random.default_rng([self.seed, epoch]).permutation(len(self.sizes)).tolist()
        return order if self.groups is None else in_twos(order, self.groups)

    def every_batch(self, epoch: int) -> list[list[int]]:
        """The batches of all processes, the same on each of them; none is empty."""
        order, width = self._order(epoch), self.batch_size * self.processes
        dealt = [self._deal(order[start : start + width]) for start in range(0, len(order), width)]
        return [hand for hands in dealt for hand in hands if hand]

    def _deal(self, members: list[int]) -> list[list[int]]:
        """Longest first, each to the process with the least work so far; what comes in twos stays together."""
        work = [0] * self.processes
        hands: list[list[int]] = [[] for _ in range(self.processes)]
        units = [[member] for member in members] if self.groups is None else twos_of(members, self.groups)
        sizes = {unit[0]: sum(int(self.sizes[member]) for member in unit) for unit in units}
        for unit in sorted(units, key=lambda unit: (-sizes[unit[0]], unit[0])):
            lightest = min(range(self.processes), key=lambda p: (work[p], p))
            work[lightest] += sizes[unit[0]]
            hands[lightest] += unit
        return [sorted(hand) for hand in hands]

"""An unlabelled corpus as chunks to learn from, and which of them each step sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from longdoc.errors import DataError
from longdoc.text.batching import BatchingConfig, collate, plan_batches
from longdoc.text.chunking import Chunker, PreparedDocument, prepare_many
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.text.words import first_of_word
from longdoc.training.pretraining_masking import IGNORED, MaskedChunk
from longdoc.types import Chunk, ChunkBatch, Document, DocumentFailure

__all__ = ["Corpus", "MaskedBatch", "check_corpus", "masked_batches", "read_corpus", "steps_of_epoch"]

_DOCUMENTS, _CHARACTERS = 64, 500_000


@dataclass(frozen=True, repr=False)
class MaskedBatch:
    """Chunks side by side, and int64 (N, L) with the true id of each token to be guessed, else `IGNORED`."""

    batch: ChunkBatch
    targets: torch.Tensor


@dataclass(repr=False)
class Corpus:
    """All chunks of all documents that can be read. Texts are not kept.

    Attributes:
        chunks: of all documents, in order.
        owners: for each chunk the number of its document, from 0.
        words: for each document the first token of each token's word, int32[T]; empty where words do not matter.
        documents: how many there are.
        tokens: all their tokens, each counted once.
        left_out: documents that cannot be read, by reason.
    """

    chunks: list[Chunk] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    words: list[NDArray[np.int32]] = field(default_factory=list)
    documents: int = 0
    tokens: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens that the encoder computes for each chunk."""
        return np.array([len(chunk) for chunk in self.chunks], dtype=np.int64)

    def log_frequencies(self, vocab_size: int) -> torch.Tensor:
        """float32 (V,): the logarithm of how often each token comes, none counted as never (add-one smoothing)."""
        counts = np.ones(vocab_size, dtype=np.int64)
        for chunk in self.chunks:
            shift = chunk.lead - chunk.span.start
            core = chunk.token_ids[chunk.core.start + shift : chunk.core.end + shift]
            np.add.at(counts, core[core < vocab_size], 1)
        return torch.from_numpy(np.log(counts / counts.sum())).float()

    def words_of(self, chunk: int) -> NDArray[np.int32] | None:
        """The words of the document of chunk number `chunk`, where words matter."""
        return self.words[self.owners[chunk]] if self.words else None


def read_corpus(
    documents: Iterable[Document | DocumentFailure],
    tokenizer: DocumentTokenizer,
    chunker: Chunker,
    whole_words: bool = False,
    max_unknown_share: float = 1.0,
) -> Corpus:
    """Tokenize and cut documents; their labels do not matter.

    Args:
        documents: failures of a reader are counted among those left out.
        whole_words: find out which tokens make up words, in a second pass over each text.
        max_unknown_share: as in predictions: a text that the tokenizer hardly knows is left out.
    """
    corpus = Corpus()
    for group in _groups(documents, corpus):
        for document, prepared in zip(group, prepare_many(group, tokenizer, chunker), strict=True):
            if not isinstance(prepared, PreparedDocument):
                corpus.left_out[prepared.reason] += 1
            elif prepared.unknown_share > max_unknown_share:
                corpus.left_out["unreadable"] += 1
            else:
                chunks = list(prepared.chunks)
                corpus.chunks += chunks
                corpus.owners += [corpus.documents] * len(chunks)
                corpus.documents += 1
                corpus.tokens += prepared.tokens_read
                if whole_words:
                    offsets = np.concatenate([segment.offsets for segment in tokenizer.segments(document.text)])
                    corpus.words.append(first_of_word(document.text, offsets))
    return corpus


def check_corpus(corpus: Corpus, what: str) -> None:
    """Refuse a corpus of which nothing can be read.

    Raises:
        DataError: says what was left out, by reason.
    """
    if not corpus.documents:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(corpus.left_out.items()))
        raise DataError(
            f"{what} needs at least 1 document that can be read, but none of "
            f"{corpus.left_out.total()} can{f': {reasons}' if reasons else ''}."
        )


def _groups(documents: Iterable[Document | DocumentFailure], corpus: Corpus) -> Iterator[list[Document]]:
    """Documents that are tokenized side by side; what a reader could not read is counted."""
    group: list[Document] = []
    characters = 0
    for document in documents:
        if isinstance(document, DocumentFailure):
            corpus.left_out[document.reason] += 1
            continue
        group.append(document)
        characters += len(document.text)
        if len(group) >= _DOCUMENTS or characters >= _CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def steps_of_epoch(lengths: NDArray[np.int64], batch_tokens: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """The chunks of each step of an epoch, by number: a pure function of its arguments.

    There are as many steps as whole batches fit into the corpus, at least one, the same in every epoch; each chunk is
    in exactly one, and none is empty, provided that no chunk is longer than `batch_tokens`.
    """
    order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
    ends = np.cumsum(lengths[order])
    steps = max(1, int(ends[-1]) // batch_tokens)
    # A chunk belongs to the step in which its middle lies, when all are laid end to end.
    step_of = (2 * ends - lengths[order]) * steps // (2 * int(ends[-1]))
    return np.split(order, np.searchsorted(step_of, np.arange(1, steps)))


def masked_batches(chunks: Sequence[MaskedChunk], size: int, tokens: int, pad_id: int) -> Iterator[MaskedBatch]:
    """Micro-batches of at most `tokens` tokens, chunks of like length side by side.

    A chunk in which nothing is hidden teaches nothing and is left out.
    """
    asked = [masked for masked in chunks if masked.hidden]
    settings = BatchingConfig(
        deterministic=False, tokens=max(tokens, size), read_ahead=sum(len(masked.chunk) for masked in asked) + 1
    )
    pairs = ((number, masked.chunk) for number, masked in enumerate(asked))
    for planned in plan_batches(pairs, size, settings):
        batch = collate(planned.chunks, [0] * len(planned.chunks), 1, pad_id, length=planned.length)
        targets = np.full((len(planned.chunks), planned.length), IGNORED, dtype=np.int64)
        for row, number in enumerate(planned.owners):
            targets[row, : len(asked[number].targets)] = asked[number].targets
        yield MaskedBatch(batch, torch.from_numpy(targets))

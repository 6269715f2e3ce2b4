"""A corpus without labels: what is read, what is left out, and which step sees which chunk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import DataError
from longdoc.text.chunking import Chunker
from longdoc.training.pretraining_data import check_corpus, masked_batches, read_corpus, steps_of_epoch
from longdoc.training.pretraining_masking import IGNORED, Masking
from longdoc.training.pretraining_settings import PretrainingConfig
from longdoc.types import Document, DocumentFailure
from tokenizer_kit import wrapped

TOKENIZER = wrapped("byte_level")
CHUNKER = Chunker(32, 8, TOKENIZER.lead, TOKENIZER.trail)
TEXT = "the quick brown fox jumps over the lazy dog "


def documents(*repeats: int) -> list[Document]:
    return [Document(id=str(number), text=(TEXT * times).rstrip()) for number, times in enumerate(repeats)]


def test_labels_do_not_matter_and_what_cannot_be_read_is_counted() -> None:
    given = [
        *documents(3),
        DocumentFailure("lost", "decode_error"),
        Document(id="blank", text=" \n"),
        Document(id="labelled", text=TEXT, label="b"),
        DocumentFailure("lost too", "decode_error"),
    ]
    corpus = read_corpus(given, TOKENIZER, CHUNKER)
    assert corpus.documents == 2
    assert dict(corpus.left_out) == {"decode_error": 2, "empty": 1}
    assert sorted(set(corpus.owners)) == [0, 1]
    cores = sum(chunk.core.end - chunk.core.start for chunk in corpus.chunks)
    assert corpus.tokens == cores
    assert corpus.words_of(0) is None


def test_words_are_known_for_every_token_of_every_document() -> None:
    corpus = read_corpus(documents(2, 5), TOKENIZER, CHUNKER, whole_words=True)
    for number, chunk in enumerate(corpus.chunks):
        words = corpus.words_of(number)
        assert words is not None
        assert chunk.span.end <= len(words)
    assert len(np.unique(corpus.words[1])) == len((TEXT * 5).split())


def test_a_corpus_of_which_nothing_can_be_read_is_refused() -> None:
    corpus = read_corpus([Document(id="a", text=" "), DocumentFailure("b", "too_large")], TOKENIZER, CHUNKER)
    with pytest.raises(DataError) as caught:
        check_corpus(corpus, "pretraining")
    assert str(caught.value) == (
        "pretraining needs at least 1 document that can be read, but none of 2 can: 1 empty, 1 too_large."
    )


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(3, 64), min_size=1, max_size=120), st.integers(64, 600), st.integers(0, 5))
def test_an_epoch_shows_each_chunk_once_in_as_many_steps_as_any_other(
    lengths: list[int], batch_tokens: int, epoch: int
) -> None:
    sizes = np.array(lengths, dtype=np.int64)
    steps = steps_of_epoch(sizes, batch_tokens, 7, epoch)
    assert sorted(np.concatenate(steps).tolist()) == list(range(len(lengths)))
    assert len(steps) == max(1, sum(lengths) // batch_tokens)
    assert all(len(step) for step in steps)
    if len(steps) > 1:
        assert max(sizes[step].sum() for step in steps) < 2 * batch_tokens + 64
    assert [s.tolist() for s in steps] == [s.tolist() for s in steps_of_epoch(sizes, batch_tokens, 7, epoch)]


def test_epochs_differ() -> None:
    sizes = np.full(40, 20)
    orders = {tuple(np.concatenate(steps_of_epoch(sizes, 100, 1, epoch))) for epoch in range(3)}
    assert len(orders) == 3


def test_micro_batches_hold_every_hidden_token_once() -> None:
    corpus = read_corpus(documents(1, 4, 9), TOKENIZER, CHUNKER)
    hide = Masking(PretrainingConfig(mask_share=0.2), TOKENIZER, 600)
    masked = [hide.train(chunk, owner, 0) for chunk, owner in zip(corpus.chunks, corpus.owners, strict=True)]
    batches = list(masked_batches(masked, 32, 64, TOKENIZER.pad_id))
    assert len(batches) > 1
    assert all(batch.targets.shape == batch.batch.token_ids.shape for batch in batches)
    assert all(batch.targets.numel() <= 64 for batch in batches)
    asked = [batch.targets != IGNORED for batch in batches]
    assert sum(int(a.sum()) for a in asked) == sum(m.hidden for m in masked)
    found = sorted(int(t) for batch, a in zip(batches, asked, strict=True) for t in batch.targets[a])
    assert found == sorted(int(t) for m in masked for t in m.targets[m.targets != IGNORED])
    for batch, a in zip(batches, asked, strict=True):
        assert batch.batch.core[a].all(), "only tokens that the chunk answers for"

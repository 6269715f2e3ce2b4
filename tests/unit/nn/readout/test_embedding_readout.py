"""A document's vector against loops over its tokens: each once, special ones at the two ends only."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.nn.readout.embedding import EmbeddingReadout
from longdoc.text.batching import collate
from longdoc.text.chunking import Chunker
from longdoc.types import ChunkBatch, TokenizedDocument

WIDTH = 5


def batch_of_documents(lengths: list[int], size: int = 8, overlap: int = 3) -> tuple[ChunkBatch, torch.Tensor]:
    """All chunks of documents whose token t of document d is 100 * d + t, with two tokens before and one behind."""
    chunker = Chunker(size, overlap, lead=[1, 2], trail=[3])
    chunks, owners = [], []
    for number, length in enumerate(lengths):
        ids = np.arange(length, dtype=np.int32) + 100 * (number + 1)
        offsets = np.stack([ids, ids + 1], axis=1).astype(np.int32)
        made = chunker.chunks(TokenizedDocument(str(number), ids, offsets, length))
        chunks += made
        owners += [number] * len(made)
    batch = collate(chunks, owners, len(lengths), pad_id=0, rows=len(chunks) + 2, length=size + 1)
    generator = torch.Generator().manual_seed(len(chunks))
    return batch, torch.randn(*batch.token_ids.shape, WIDTH, generator=generator)


def slow(batch: ChunkBatch, hidden: torch.Tensor, document: int, pooling: str, lead: bool, trail: bool) -> np.ndarray:
    """Every token of the document once, written out."""
    states, weights = [], []
    for row, chunk in enumerate(batch.chunks):
        if int(batch.owner[row]) != document:
            continue
        if pooling == "cls":
            counted = chunk.core.end - chunk.core.start
            counted += chunk.lead if lead and chunk.ordinal == 0 else 0
            counted += 1 if trail and chunk.ordinal == chunk.total - 1 else 0
            states.append(hidden[row, 0].double().numpy())
            weights.append(counted)
            continue
        for column in range(len(chunk)):
            token = column - chunk.lead + chunk.span.start
            is_own = chunk.span.start <= token < chunk.span.end and chunk.core.start <= token < chunk.core.end
            is_lead = column < chunk.lead and chunk.ordinal == 0 and lead
            is_trail = column == len(chunk) - 1 and chunk.ordinal == chunk.total - 1 and trail
            if is_own or is_lead or is_trail:
                states.append(hidden[row, column].double().numpy())
                weights.append(1)
    return np.max(states, axis=0) if pooling == "max" else np.average(states, axis=0, weights=weights)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=4), lead=st.booleans(), trail=st.booleans())
@settings(deadline=None, max_examples=15)
def test_each_token_counts_once(pooling: str, lengths: list[int], lead: bool, trail: bool) -> None:
    batch, hidden = batch_of_documents(lengths)
    readout = EmbeddingReadout(WIDTH, pooling, lead, trail)  # type: ignore[arg-type]
    count = len(batch.chunks)
    rows = readout.rows(hidden, batch)[:count]
    assert rows.shape == (count, readout.row_width)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
    found = readout.documents(rows[order], batch.owner[:count][order], batch.weights[:count][order], len(lengths))
    for document in range(len(lengths)):
        expected = slow(batch, hidden, document, pooling, lead, trail)
        np.testing.assert_allclose(found[document].numpy(), expected, rtol=1e-5, atol=1e-6)


def test_chunks_may_count_the_same_however_short() -> None:
    batch, hidden = batch_of_documents([7])  # chunks of 5 and 4 tokens that share 3: cores of 4 and 3
    readout = EmbeddingReadout(WIDTH, weights="chunks")
    rows = readout.rows(hidden, batch)[:2]
    first, second = hidden[0, 2:6].mean(0), hidden[1, 4:7].mean(0)
    assert [(c.core.start, c.core.end) for c in batch.chunks] == [(0, 4), (4, 7)]
    found = readout.documents(rows, batch.owner[:2], batch.weights[:2], 1)[0]
    torch.testing.assert_close(found, (first + second) / 2)


def test_what_is_not_pooled_never_leaks_and_nothing_gives_zeros() -> None:
    batch, hidden = batch_of_documents([4])
    hidden[0, 6:] = torch.nan  # behind the text
    rows = EmbeddingReadout(WIDTH).rows(hidden, batch)
    assert rows[0].isfinite().all()
    for pooling in ("mean", "max"):
        readout = EmbeddingReadout(WIDTH, pooling)  # type: ignore[arg-type]
        empty = readout.documents(torch.zeros(2, WIDTH + 1), torch.zeros(2, dtype=torch.int64), torch.zeros(2), 2)
        assert empty.tolist() == [[0.0] * WIDTH] * 2

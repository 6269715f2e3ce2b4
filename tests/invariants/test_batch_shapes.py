"""Batches lose nothing, repeat nothing, and have few shapes that depend on nothing but the chunks themselves."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.text.batching import BatchingConfig, PlannedBatch, buckets, collate, plan_batches
from longdoc.text.chunking import Chunker
from longdoc.types import Chunk, TokenizedDocument

DOCUMENTS = st.lists(st.integers(0, 300), min_size=1, max_size=12)
SIZES = st.sampled_from([16, 33, 48, 64, 128])


def chunks_of_documents(tokens: list[int], size: int) -> list[tuple[int, Chunk]]:
    """Token ids say whose they are: 10000 * document + place."""
    chunker = Chunker(size, size // 4, [1], [2])
    pairs = []
    for number, n_tokens in enumerate(tokens):
        places = np.arange(n_tokens, dtype=np.int32)
        offsets = np.stack([places, places + 1], axis=1)
        document = TokenizedDocument(f"d{number}", 10_000 * (number + 1) + places, offsets, n_tokens)
        pairs += [(number, chunk) for chunk in chunker.chunks(document)]
    return pairs


def planned(pairs: list[tuple[int, Chunk]], size: int, **numbers: object) -> list[PlannedBatch]:
    return list(plan_batches(pairs, size, BatchingConfig(**numbers)))  # type: ignore[arg-type]


@given(tokens=DOCUMENTS, size=SIZES, read_ahead=st.integers(1, 2000), deterministic=st.booleans())
@settings(deadline=None, max_examples=150)
def test_each_chunk_is_in_exactly_one_batch(tokens: list[int], size: int, read_ahead: int, deterministic: bool) -> None:
    pairs = chunks_of_documents(tokens, size)
    batches = planned(pairs, size, read_ahead=read_ahead, deterministic=deterministic)
    found = [(owner, chunk) for batch in batches for owner, chunk in zip(batch.owners, batch.chunks, strict=True)]
    assert Counter((owner, id(chunk)) for owner, chunk in found) == Counter((o, id(c)) for o, c in pairs)
    for owner, chunk in found:
        assert chunk.doc_id == f"d{owner}"
        assert all(10_000 * (owner + 1) <= token < 10_000 * (owner + 2) for token in chunk.token_ids[1:-1].tolist())
    assert all(1 <= len(batch.chunks) <= batch.rows for batch in batches)
    assert all(len(chunk) <= batch.length for batch in batches for chunk in batch.chunks)


@given(tokens=DOCUMENTS, size=SIZES, read_ahead=st.integers(1, 2000), fixed=st.sampled_from([1, 100, 256, 4096]))
@settings(deadline=None, max_examples=150)
def test_deterministic_batches_have_one_shape_a_bucket(
    tokens: list[int], size: int, read_ahead: int, fixed: int
) -> None:
    batches = planned(chunks_of_documents(tokens, size), size, read_ahead=read_ahead, fixed_tokens=fixed)
    shapes = {(max(1, fixed // length), length) for length in buckets(size, fixed)}
    assert {(batch.rows, batch.length) for batch in batches} <= shapes


@given(tokens=DOCUMENTS, size=SIZES, read_ahead=st.integers(1, 2000), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=150)
def test_what_the_encoder_sees_of_a_chunk_does_not_depend_on_its_neighbours(
    tokens: list[int], size: int, read_ahead: int, seed: int
) -> None:
    """Shape of the batch, own row, and whether there is a mask at all: equal in any order, company and read-ahead."""

    def seen(pairs: list[tuple[int, Chunk]], ahead: int) -> dict[int, tuple[object, ...]]:
        found: dict[int, tuple[object, ...]] = {}
        for batch in planned(pairs, size, read_ahead=ahead):
            tensors = collate(batch.chunks, [0] * len(batch.chunks), 1, 3, batch.rows, batch.length)
            for row, chunk in enumerate(batch.chunks):
                valid = None if tensors.valid is None else tensors.valid[row].tolist()
                found[id(chunk)] = (tensors.token_ids.shape, tensors.token_ids[row].tolist(), valid)
        return found

    pairs = chunks_of_documents(tokens, size)
    together = seen(pairs, 65536)
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    assert seen(shuffled, read_ahead) == together
    alone = {}
    for pair in pairs:
        alone |= seen([pair], 1)
    assert alone == together


@given(tokens=DOCUMENTS, size=SIZES, read_ahead=st.integers(1, 600), deterministic=st.booleans())
@settings(deadline=None, max_examples=150)
def test_no_more_is_held_than_the_read_ahead_and_one_chunk(
    tokens: list[int], size: int, read_ahead: int, deterministic: bool
) -> None:
    pairs = chunks_of_documents(tokens, size)
    read = given_out = 0

    def source():  # type: ignore[no-untyped-def]
        nonlocal read
        for owner, chunk in pairs:
            read += len(chunk)
            yield owner, chunk

    for batch in plan_batches(source(), size, BatchingConfig(read_ahead=read_ahead, deterministic=deterministic)):
        assert read - given_out < read_ahead + size
        given_out += sum(map(len, batch.chunks))
    assert read == given_out


@given(tokens=DOCUMENTS, size=SIZES, budget=st.integers(1, 400))
@settings(deadline=None, max_examples=150)
def test_free_batches_keep_to_the_budget_and_pad_to_the_longest_alone(
    tokens: list[int], size: int, budget: int
) -> None:
    for batch in planned(chunks_of_documents(tokens, size), size, tokens=budget, deterministic=False):
        assert batch.rows == len(batch.chunks)
        assert batch.length == max(map(len, batch.chunks))
        assert batch.rows * batch.length <= budget or batch.rows == 1


@given(tokens=DOCUMENTS, size=SIZES, deterministic=st.booleans())
@settings(deadline=None, max_examples=100)
def test_each_token_of_each_document_is_answered_for_once(tokens: list[int], size: int, deterministic: bool) -> None:
    seen: Counter[int] = Counter()
    weights: Counter[int] = Counter()
    for batch in planned(chunks_of_documents(tokens, size), size, deterministic=deterministic, read_ahead=500):
        tensors = collate(batch.chunks, batch.owners, len(tokens), 3, batch.rows, batch.length)
        seen.update(tensors.token_ids[tensors.core].tolist())
        weights.update(dict(enumerate(torch.bincount(tensors.owner, tensors.weights, minlength=len(tokens)).tolist())))
    assert seen == Counter(10_000 * (number + 1) + place for number, n in enumerate(tokens) for place in range(n))
    assert [weights[number] for number in range(len(tokens))] == tokens

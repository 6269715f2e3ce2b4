"""Chunks that were met before are not encoded again, and nobody can tell from the numbers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from longdoc.embedding import Embedder, EmbeddingConfig, recipe_of_readout
from longdoc.encoding import ChunkRow
from longdoc.pipeline import Pipeline, PredictionConfig
from longdoc.repeats import ROW_BYTES, ChunkMemory, RepeatCount
from longdoc.text.batching import BatchingConfig
from longdoc.types import Chunk, ChunkBatch, Document, DocumentFailure, Span

WORDS = "the licence grants you a right to copy and change this work provided that notices stay in place".split()


def text(start: int, words: int) -> str:
    return " ".join(WORDS[(start + step * step) % len(WORDS)] for step in range(words))


LETTERS = [
    *(Document(id=f"a{number}", text=text(number, 40 + 37 * number)) for number in range(4)),
    Document(id="the first again", text=text(0, 40)),
    Document(id="the longest again", text=text(3, 151)),
    Document(id="the longest once more", text=text(3, 151)),
    Document(id="of one beginning with the longest", text=text(3, 151) + " " + text(5, 60)),
    Document(id="empty", text=""),
]


class Counting(torch.nn.Module):
    """A model that counts the chunks it is shown; filler is not counted."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model, self.chunks = model, 0

    def chunk_rows(self, batch: ChunkBatch) -> torch.Tensor:
        self.chunks += len(batch.chunks)
        return self.model.chunk_rows(batch)

    def __getattr__(self, name: str) -> object:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)


def of(pipeline: Pipeline, **batching: object) -> tuple[Pipeline, Counting]:
    settings = PredictionConfig(batching=BatchingConfig(**batching), precision=pipeline.prediction.precision)
    counting = Counting(pipeline.model)
    return Pipeline(counting, pipeline.settings, pipeline.tokenizer, settings), counting  # type: ignore[arg-type]


@pytest.mark.parametrize("read_ahead", [1, 100, 65536])
def test_the_same_bits_in_the_same_order_from_fewer_chunks(tiny_pipeline: Pipeline, read_ahead: int) -> None:
    without, every = of(tiny_pipeline, reuse_repeats=False, read_ahead=read_ahead)
    once, fresh = of(tiny_pipeline, read_ahead=read_ahead)
    plain, saved = without.predict(LETTERS), once.predict(LETTERS)
    assert [result.to_dict() for result in saved] == [result.to_dict() for result in plain]
    chunks = {result.id: result.n_chunks for result in plain}
    assert every.chunks == sum(chunks.values())
    again = [chunks[name] for name in ("the first again", "the longest again", "the longest once more")]
    shared = chunks["the longest again"] - 1  # its last chunk ends where the longer document goes on
    assert fresh.chunks == every.chunks - sum(again) - shared


def test_a_corpus_that_only_repeats_itself_is_answered_as_it_comes(tiny_pipeline: Pipeline) -> None:
    once, fresh = of(tiny_pipeline, read_ahead=200)
    asked = 0

    def thousand() -> Iterator[Document]:
        nonlocal asked
        for asked in range(1000):
            yield Document(id=str(asked), text=LETTERS[1].text)

    most = 0
    for given, result in enumerate(once.stream(thousand())):
        assert not isinstance(result, DocumentFailure)
        most = max(most, asked - given)
    assert given == 999
    assert fresh.chunks == result.n_chunks
    assert most <= 128  # a group of 64 that is tokenized together, and one that waits


def test_between_calls_nothing_is_kept_unless_it_is_asked_for(tiny_pipeline: Pipeline) -> None:
    once, fresh = of(tiny_pipeline)
    first = once.predict(LETTERS[:4])
    once.predict(LETTERS[:4])
    assert fresh.chunks == 2 * sum(result.n_chunks for result in first)
    once.remember_chunks()
    kept = [once.predict(LETTERS[:4]), once.predict(LETTERS[:4])]
    assert fresh.chunks == 3 * sum(result.n_chunks for result in first)
    assert [[result.to_dict() for result in results] for results in kept] == [[r.to_dict() for r in first]] * 2
    assert once.chunk_memory is not None
    count = once.chunk_memory.count
    assert (count.repeated_chunks, count.chunks) == (fresh.chunks // 3, 2 * fresh.chunks // 3)
    assert count.tokens == 2 * count.repeated_tokens
    assert (once.repeats.chunks, once.repeats.tokens) == (2 * count.chunks, 2 * count.tokens)  # of all calls
    assert once.repeats.repeated_chunks == count.repeated_chunks


def test_a_walk_that_is_given_up_leaves_nobody_waiting(tiny_pipeline: Pipeline) -> None:
    once, _ = of(tiny_pipeline, read_ahead=1)
    once.remember_chunks()
    walk = once.stream(LETTERS)
    next(walk)
    walk.close()
    assert [result.id for result in once.predict(LETTERS)] == [document.id for document in LETTERS]


def test_free_batches_encode_each_chunk(tiny_pipeline: Pipeline) -> None:
    free, every = of(tiny_pipeline, deterministic=False)
    results = free.predict(LETTERS)
    assert every.chunks == sum(result.n_chunks for result in results)


def chunk(ids: list[int], ordinal: int = 0, total: int = 3, core: tuple[int, int] = (0, 2), **more: object) -> Chunk:
    return Chunk("d", ordinal, total, Span(0, 2), Span(*core), np.array(ids, dtype=np.int32), 1, **more)  # type: ignore[arg-type]


ALIKE = chunk([1, 7, 8, 2])
UNLIKE = {
    "another token": chunk([1, 7, 9, 2]),
    "another core": chunk([1, 7, 8, 2], core=(1, 2)),
    "other axes": chunk([1, 7, 8, 2], axes=np.ones((1, 4), dtype=np.int32)),
    "axes of zeros": chunk([1, 7, 8, 2], axes=np.zeros((1, 4), dtype=np.int32)),
    "other types": chunk([1, 7, 8, 2], token_types=np.array([0, 0, 1, 1], dtype=np.int32)),
}


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("by_place", [False, True])
def test_chunks_are_alike_only_in_everything_that_the_encoder_is_shown(name: str, by_place: bool) -> None:
    memory = ChunkMemory(by_place).begin()
    assert not memory.waits(0, ALIKE)
    assert memory.waits(1, chunk([1, 7, 8, 2]))
    assert not memory.waits(2, UNLIKE[name])
    assert memory.waits(3, chunk([1, 7, 8, 2], ordinal=1)) is not by_place
    assert memory.waits(4, chunk([1, 7, 8, 2], total=9)) is not by_place


def row_of(found: Chunk, value: float = 0.5) -> ChunkRow:
    return ChunkRow(0, found, torch.full((4,), value), 2.0)


def test_who_waits_gets_the_row_or_the_failure_under_its_own_name() -> None:
    whole = ChunkMemory(False)
    memory = whole.begin()
    assert not memory.waits(0, ALIKE)
    other = chunk([1, 7, 8, 2], ordinal=2)
    assert memory.waits(5, other)
    first, second = memory.home(row_of(ALIKE))
    assert (second.owner, second.chunk) == (5, other)
    assert second.row is first.row
    later = memory.known(6, other)
    assert later is not None
    assert (later.owner, later.weight) == (6, 2.0)
    failing = UNLIKE["another token"]
    assert not memory.waits(7, failing)
    assert memory.waits(8, failing)
    failed = list(memory.home(ChunkRow(7, failing, None, 2.0, "memory_limit", "MemoryError")))
    assert [(item.owner, item.reason) for item in failed] == [(7, "memory_limit"), (8, "memory_limit")]
    assert memory.known(9, failing) is None  # it is tried again
    assert whole.count == RepeatCount(4, 16, 2 + 0, 8) + RepeatCount(1, 4, 1, 4)


def test_several_memories_add_to_one_total() -> None:
    total = RepeatCount()
    memories = [ChunkMemory(False, total=total), ChunkMemory(False, total=total)]
    walks = [memory.begin() for memory in memories]
    for walk in walks:
        assert not walk.waits(0, ALIKE)
    assert walks[0].waits(1, ALIKE)
    assert total == RepeatCount(3, 12, 1, 4) == memories[0].count + memories[1].count


def test_what_one_walk_waits_for_is_no_other_walks() -> None:
    memory = ChunkMemory(False)
    one, other = memory.begin(), memory.begin()
    assert not one.waits(0, ALIKE)
    assert one.waits(1, ALIKE)
    assert not other.waits(2, ALIKE)  # it cannot wait for a walk that may be given up
    assert [row.owner for row in other.home(row_of(ALIKE))] == [0]
    assert [row.owner for row in one.home(row_of(ALIKE))] == [0, 1]
    assert memory.begin().known(7, ALIKE) is not None


ANSWERED = LETTERS[:-1]


def fresh(pipeline: Pipeline, **batching: object) -> Pipeline:
    settings = PredictionConfig(batching=BatchingConfig(**batching), precision=pipeline.prediction.precision)
    return Pipeline(pipeline.model, pipeline.settings, pipeline.tokenizer, settings)


def test_streams_that_take_turns_lose_no_document(tiny_pipeline: Pipeline) -> None:
    pipeline, every = fresh(tiny_pipeline, read_ahead=64), ANSWERED * 3
    expected = [result.logits for result in pipeline.predict(ANSWERED)]
    pipeline.remember_chunks()
    one = pipeline.stream(every)
    first = [next(one).logits, next(one).logits]
    other = pipeline.stream(reversed(ANSWERED))
    second = [next(other).logits]
    pipeline.explain(ANSWERED[0], occlude=False)
    assert first + [result.logits for result in one] == expected * 3
    assert second + [result.logits for result in other] == expected[::-1]


def test_threads_that_share_a_memory_count_everything(tiny_pipeline: Pipeline) -> None:
    pipeline = fresh(tiny_pipeline, read_ahead=64)
    expected = [result.logits for result in pipeline.predict(ANSWERED)]
    once, before = dataclasses.replace(pipeline.repeats), sys.getswitchinterval()
    pipeline.remember_chunks()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as callers:
            answers = [callers.submit(pipeline.predict, ANSWERED) for _ in range(12)]
            assert all([result.logits for result in answer.result()] == expected for answer in answers)
    finally:
        sys.setswitchinterval(before)
    assert pipeline.repeats.chunks == 13 * once.chunks
    assert pipeline.repeats.tokens == 13 * once.tokens
    assert pipeline.repeats.repeated_chunks >= 12 * once.repeated_chunks


def test_vectors_are_counted_over_all_calls(tiny_pipeline: Pipeline) -> None:
    chunking = tiny_pipeline.settings.chunking
    recipe = recipe_of_readout(tiny_pipeline.settings.readout, EmbeddingConfig())
    embedder = Embedder(tiny_pipeline.model.encoder, tiny_pipeline.tokenizer, chunking, recipe)
    chunks = sum(item.n_chunks for item in tiny_pipeline.predict(LETTERS[:5]))
    for _ in range(2):
        list(embedder.stream(LETTERS[:5]))
    again = tiny_pipeline.predict(LETTERS[:1])[0].n_chunks
    assert (embedder.repeats.chunks, embedder.repeats.repeated_chunks) == (2 * chunks, 2 * again)


def test_the_row_that_nobody_asked_for_the_longest_is_forgotten_first() -> None:
    chunks = [chunk([1, 7, 10 + number, 2]) for number in range(3)]
    memory = ChunkMemory(False, bytes_kept=2 * (4 * 4 + ROW_BYTES)).begin()
    for item in chunks[:2]:
        list(memory.home(row_of(item)))
    assert memory.known(0, chunks[0]) is not None
    list(memory.home(row_of(chunks[2])))
    assert [memory.known(0, item) is not None for item in chunks] == [True, False, True]
    large = ChunkMemory(False, bytes_kept=15 + ROW_BYTES).begin()
    list(large.home(row_of(ALIKE)))
    assert large.known(0, ALIKE) is None


def test_rows_that_are_kept_are_those_that_came_whatever_was_forgotten_meanwhile() -> None:
    """Rows of two kinds come and go, far more than fit, and each that is still known is the one that was brought."""
    random = np.random.default_rng(0)
    memory = ChunkMemory(False, bytes_kept=40 * (4 * 4 + ROW_BYTES)).begin()
    brought: dict[int, torch.Tensor] = {}
    for number in range(300):
        item = chunk([1, 7, 10 + number, 2])
        width = 4 if number % 3 else 700
        brought[number] = torch.from_numpy(random.normal(size=width)).float()
        given = brought[number].clone()
        list(memory.home(ChunkRow(0, item, given, 1.0)))
        given.fill_(-1)  # the row of a batch, which is used again
        asked = int(random.integers(0, number + 1))
        if found := memory.known(0, chunk([1, 7, 10 + asked, 2])):
            assert found.row is not None
            assert torch.equal(found.row, brought[asked])
            found.row.fill_(-2)  # whoever gets a row may do with it what they like
    known = [number for number in range(300) if memory.known(0, chunk([1, 7, 10 + number, 2])) is not None]
    assert 10 < len(known) <= 40
    assert known[-1] == 299

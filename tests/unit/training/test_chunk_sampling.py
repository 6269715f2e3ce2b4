"""Some chunks of each document: which ones, what they weigh, and where they are never used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.config import load_config
from longdoc.errors import ConfigurationError
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.training.card import model_card
from longdoc.training.chunk_sampling import check_sampling, sampled_chunks
from longdoc.training.data import Example, build_examples
from longdoc.training.progress import TrainingReport
from longdoc.training.steps import Stepper
from training_kit import LABELS, documents, lines, run, stopped


def example(number: int, chunks: int) -> Example:
    """Chunks that are their own numbers, as far as the drawing goes."""
    return Example(number, str(number), tuple(f"{number}.{n:03d}" for n in range(chunks)), torch.tensor(0), 5 * chunks)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(1, 8), st.integers(0, 99), st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_drawn_chunks_are_some_of_the_documents_own_in_their_order(
    counts: list[int], most: int, seed: int, epoch: int
) -> None:
    examples = [example(number, count) for number, count in enumerate(counts)]
    drawn = sampled_chunks(examples, most, seed, epoch)
    for before, after in zip(examples, drawn, strict=True):
        assert len(after.chunks) == min(most, len(before.chunks))
        assert sorted(set(after.chunks)) == list(after.chunks)  # type: ignore[type-var]
        assert set(after.chunks) <= set(before.chunks)
        assert (after.number, after.id, after.tokens) == (before.number, before.id, 5 * len(after.chunks))
    again = sampled_chunks(list(reversed(examples)), most, seed, epoch)
    assert [e.chunks for e in reversed(again)] == [e.chunks for e in drawn], "whatever stands beside a document"


def test_epochs_seeds_and_documents_draw_differently_and_every_chunk_as_often() -> None:
    def drawn(seed: int, epoch: int, number: int = 0) -> tuple[str, ...]:
        (found,) = sampled_chunks([example(number, 10)], 3, seed, epoch)
        return tuple(chunk[-3:] for chunk in found.chunks)  # type: ignore[index]

    assert len({drawn(0, 0), drawn(0, 1), drawn(1, 0), drawn(0, 0, 1)}) == 4
    counts = Counter(chunk for epoch in range(2000) for chunk in drawn(0, epoch))
    assert len(counts) == 10
    assert min(counts.values()) > 510  # 600 expected, deviation 20: four and a half of them
    assert max(counts.values()) < 690


def test_without_a_limit_nothing_is_drawn() -> None:
    examples = [example(0, 9)]
    assert sampled_chunks(examples, None, 0, 0) is examples


def test_each_step_learns_from_the_chunks_that_its_epoch_draws(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[tuple[int, ...]]] = {}
    inner = Stepper._micro_batches

    def look(self: Stepper, mine: list[Example]):
        for one in mine:
            seen.setdefault(one.id, []).append(tuple(chunk.ordinal for chunk in one.chunks))
        for batch in inner(self, mine):
            cores = [chunk.core.end - chunk.core.start for chunk in batch.chunks]
            assert batch.weights.tolist() == [float(core) for core in cores], "of the chunk's own core"
            yield batch

    monkeypatch.setattr(Stepper, "_micro_batches", look)
    asked: list[int] = []
    answers = Pipeline.stream_measured

    def count(self: Pipeline, given):  # type: ignore[no-untyped-def]
        for result in answers(self, given):
            asked.append(result.n_tokens - result.tokens_read)
            yield result

    monkeypatch.setattr(Pipeline, "stream_measured", count)
    train = documents(10)
    report = run(
        tiny_pipeline, tmp_path / "run", "chunks_per_document=2", train=train, validation=documents(4, 20, "v")
    )
    examples, _ = build_examples(train, tiny_pipeline.tokenizer, tiny_pipeline.chunker, LABELS, tiny_pipeline.task)
    for one in examples:
        expected = [tuple(c.ordinal for c in sampled_chunks([one], 2, 0, epoch)[0].chunks) for epoch in range(2)]
        assert seen[one.id] == expected
    assert any(len(one.chunks) > 2 for one in examples)
    assert len(asked) == 8
    assert set(asked) == {0}, "validation reads every token"
    assert report.steps == 6


@pytest.mark.slow
def test_a_run_that_was_stopped_draws_what_it_would_have_drawn(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    run(tiny_pipeline, tmp_path / "whole", "chunks_per_document=1")
    stopped(tiny_pipeline, tmp_path / "apart", "chunks_per_document=1", stop_after=4)
    run(tiny_pipeline, tmp_path / "apart", "chunks_per_document=1")
    assert lines(tmp_path / "apart") == lines(tmp_path / "whole")


@pytest.mark.parametrize(
    ("task", "keeps_rows", "message"),
    [
        (
            "spans",
            False,
            "`training.chunks_per_document` must be null for the task spans, which learns from every token, but is 3 "
            "instead. Lower `training.micro_batch_tokens` if memory is short.",
        ),
        (
            "single_label",
            True,
            "`training.chunks_per_document` must be null where the whole encoder is frozen, since all chunks are "
            "encoded once and then cost nothing, but is 3 instead. Leave it out.",
        ),
    ],
)
def test_where_all_chunks_are_needed_or_cost_nothing_it_is_refused(task: str, keeps_rows: bool, message: str) -> None:
    check_sampling(None, task_named(task), keeps_rows)
    with pytest.raises(ConfigurationError) as caught:
        check_sampling(3, task_named(task), keeps_rows)
    assert str(caught.value) == message


def test_the_card_says_what_was_learned_from(tiny_pipeline: Pipeline) -> None:
    def card(*overrides: str) -> str:
        training = load_config(None, list(overrides)).training
        encoder = tiny_pipeline.model.encoder.config
        return model_card(tiny_pipeline.settings, training, TrainingReport(), encoder, "default")

    assert "Learned from" not in card()
    assert (
        "Learned from at most 3 chunks of each document, drawn anew each epoch; validation read all of them."
        in card("training.chunks_per_document=3")
    )

"""Reports about training from other tools, each with its right value: B087, B088, B090, B091, B092 and B094."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from longdoc.nn.readout import AnswersReadoutConfig, TokensReadoutConfig
from longdoc.pipeline import Pipeline
from longdoc.tasks import task_named
from longdoc.text.chunking import ChunkingConfig
from longdoc.training import validation
from longdoc.training.data import Example, build_examples
from longdoc.training.evaluation import metrics_of
from longdoc.training.steps import Stepper
from longdoc.training.validation import Validator
from longdoc.types import Document, LabelledSpan, Span
from training_kit import LABELS, anew, documents, lines, run, stopped

slow = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("minilm_folder")


def spans_of(words: list[str]) -> tuple[Document, tuple[str, ...]]:
    """Each word is a span with a label of its own, and the labels in the order of the words."""
    labels = tuple(f"L{number}" for number in range(len(words)))
    starts = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]
    found = (LabelledSpan(s, s + len(w), label) for s, w, label in zip(starts, words, labels, strict=True))
    return Document("d", " ".join(words), spans=tuple(found)), labels


def learned(tiny: Pipeline, document: Document, labels: tuple[str, ...], size: int) -> tuple[Any, Example]:
    """A readout for spans, and what is learned from a document in chunks of such a size that share 4 tokens."""
    task, config = task_named("spans"), TokensReadoutConfig()
    readout = config.build(8, task.classes(labels, config))
    chunker = ChunkingConfig(size=size, overlap=4).build(tiny.tokenizer)
    (example,), _ = build_examples([document], tiny.tokenizer, chunker, labels, task, readout=readout)
    return readout, example


def test_b087_a_document_without_anything_to_learn_adds_nothing_and_stays_finite(tiny_pipeline: Pipeline) -> None:
    """The first has no answer that the model could say, so its loss and gradients are 0, alone or beside another; that
    other has its answer in its first chunk, and none in its third.
    """
    task, config = task_named("question_answering"), AnswersReadoutConfig(no_answer=False, max_answer_tokens=2)
    readout = config.build(8, 2)
    text = "the licence grants " * 20
    given = [Document(str(n), text, question="who", answers=(Span(0, end),)) for n, end in enumerate((18, 3))]
    chunker = ChunkingConfig(size=32, overlap=4).build(tiny_pipeline.tokenizer)
    examples, _ = build_examples(given, tiny_pipeline.tokenizer, chunker, ("start", "end"), task, readout=readout)
    rows = sum(1 + chunk.span.end - chunk.span.start for chunk in examples[0].chunks)
    assert len(examples[0].chunks) >= 3
    for chosen in (examples[:1], examples):
        scores = torch.randn(rows * len(chosen), 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
        losses = task.loss(readout)(scores, [example.target for example in chosen])
        losses.sum().backward()
        assert losses[0].item() == 0.0
        assert scores.grad is not None
        assert not scores.grad[:rows].any()
        assert torch.isfinite(scores.grad).all()
    assert losses[1].item() > 0
    assert scores.grad[rows:].any()


@dataclass
class Rank:
    """What a validator asks of Accelerate."""

    process_index: int
    num_processes: int


@pytest.mark.parametrize("count", [pytest.param(n, marks=[] if n == 7 else slow) for n in (1, 7, 8, 9, 10)])
def test_b088_every_validation_document_is_measured_once_whatever_the_processes(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    given, measured = documents(count), []
    for processes in (1, 2):
        parts: dict[int, Any] = {}
        barrier = Barrier(processes)

        def meet(rank: Rank, own: Any, parts: dict[int, Any] = parts, barrier: Barrier = barrier) -> list[Any]:
            parts[rank.process_index] = own
            barrier.wait(60)
            return [parts[number] for number in sorted(parts)]

        monkeypatch.setattr(validation, "gathered", meet)
        validators = [Validator(anew(tiny_pipeline), Rank(r, processes), given, None) for r in range(processes)]
        with ThreadPoolExecutor(processes) as pool:
            answers = list(pool.map(Validator.answers, validators))
        for results in answers:
            assert [result.id for result in results] == [document.id for document in given]
        assert sum(map(len, parts.values())) == count
        measured.append(metrics_of(tiny_pipeline, given, answers[0], resamples=0))
    assert measured[0] == measured[1]
    assert measured[0]["documents"] == count


@pytest.mark.parametrize("stop", [pytest.param(2, marks=slow), 6])
def test_b090_a_run_that_goes_on_sees_the_documents_that_it_would_have_seen(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Twelve documents in threes; stopped after two batches of the first epoch, or of the second."""
    settings = ("per_device_train_batch_size=3", "num_train_epochs=3")
    seen: list[tuple[int, ...]] = []
    take = Stepper.take
    monkeypatch.setattr(Stepper, "take", lambda self, step, *rest: seen.append(step.members) or take(self, step, *rest))
    run(tiny_pipeline, tmp_path / "whole", *settings)
    reference = list(seen)
    seen.clear()
    stopped(tiny_pipeline, tmp_path / "cut", *settings, stop_after=stop)
    run(tiny_pipeline, tmp_path / "cut", *settings)
    assert seen == reference
    for epoch in range(3):
        assert sorted(n for members in seen[4 * epoch : 4 * epoch + 4] for n in members) == list(range(12))
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    whole, cut = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(tensor.equal(cut[name]) for name, tensor in whole.items())


def test_b091_every_word_keeps_its_own_label_in_every_chunk(tiny_pipeline: Pipeline) -> None:
    """Forty words, the number of a word is its label, number 12 has three pieces; chunks of 16 that share 4."""
    words = ["right"] * 12 + ["relicensing"] + ["right"] * 27
    document, labels = spans_of(words)
    readout, example = learned(tiny_pipeline, document, labels, 16)
    layout = readout.layout
    assert len(example.chunks) == 4
    begins, tags = example.target[:, 0].bool(), example.target[:, 2].long()
    assert int(begins.sum()) == 40
    assert [int(layout.labels[0][tag]) for tag in tags[begins]] == list(range(40))
    assert begins[12:16].tolist() == [True, False, False, True], "later pieces have no target"
    cores = [number for chunk in example.chunks for number in range(chunk.core.start, chunk.core.end)]
    assert cores == list(range(42)), "a token's target is asked for in one chunk alone"


@slow
def test_b092_every_chunk_knows_its_document_however_many_there_are(tiny_pipeline: Pipeline) -> None:
    """Documents of one to five chunks, in groups of 64: their numbers do not begin again with each group."""
    task = task_named("single_label")
    given = [Document(f"d{n}", "word " * (28 * (n % 5 + 1) - 8 * (n % 5)), label=LABELS[n % 3]) for n in range(2500)]
    chunker = ChunkingConfig(size=30, overlap=8).build(tiny_pipeline.tokenizer)
    examples, left_out = build_examples(given, tiny_pipeline.tokenizer, chunker, LABELS, task)
    assert not left_out
    assert [example.number for example in examples] == list(range(2500))
    for number, example in enumerate(examples):
        assert [(chunk.doc_id, chunk.ordinal) for chunk in example.chunks] == [
            (f"d{number}", ordinal) for ordinal in range(number % 5 + 1)
        ]


def test_b094_an_overlap_counts_once_in_the_loss(tiny_pipeline: Pipeline) -> None:
    """24 words in the windows (0, 14) and (10, 24): 24 targets, and a constant model's loss is that of one window."""
    document, labels = spans_of(["right"] * 24)
    losses = []
    for size, windows in ((16, [(0, 14), (10, 24)]), (26, [(0, 24)])):
        readout, example = learned(tiny_pipeline, document, labels, size)
        assert [tuple(chunk.span) for chunk in example.chunks] == windows
        assert int(example.target[:, 0].sum()) == 24
        constant = torch.linspace(-1, 1, readout.classes).expand(24, -1)
        losses.append(task_named("spans").loss(readout)(constant, [example.target]))
    assert torch.equal(*losses)
    expected = torch.nn.functional.cross_entropy(constant, example.target[:, 2].long())
    assert float(losses[0]) == pytest.approx(float(expected), rel=1e-6)

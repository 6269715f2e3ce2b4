"""A step of the optimiser: the mean over its documents, and clear ends where it cannot be taken."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from longdoc.errors import LongDocError
from longdoc.nn.dropout import Dropout
from longdoc.nn.self_attention import SelfAttention
from longdoc.pipeline import Pipeline
from longdoc.text.batching import collate
from longdoc.training import steps
from longdoc.training.data import EpochSampler, Step, build_examples
from longdoc.training.mixed_precision import training_placement
from longdoc.training.processes import start_accelerator
from longdoc.training.schedules import Schedule
from longdoc.training.steps import Stepper, Wishes
from longdoc.types import short_digest
from training_kit import LABELS, anew, documents, lines, run

NO_GPU = "needs a GPU, where gradients can be scaled, but the device is cpu. Use bf16 or fp32."

pytestmark = pytest.mark.usefixtures("minilm_folder")


def without_dropout(pipeline: Pipeline) -> Pipeline:
    pipeline = anew(pipeline)
    for module in pipeline.model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
        elif isinstance(module, SelfAttention):
            module.dropout = 0.0
    return pipeline


def test_the_gradient_is_that_of_the_mean_over_the_documents_of_the_step(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven documents in batches of two, three batches a step: the last step has one document in one batch."""
    pipeline = without_dropout(tiny_pipeline)
    model = pipeline.model.double().train()
    examples, _ = build_examples(documents(7), pipeline.tokenizer, pipeline.chunker, LABELS, pipeline.task)
    accelerator = start_accelerator(torch.device("cpu"), torch.float32, 0)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.0))
    loss = pipeline.task.loss(model.readout, [e.target for e in examples], 3)
    stepper = Stepper(pipeline, accelerator, optimizer, Schedule(optimizer, 9, 0.0), pipeline.placement,
                      examples, loss, None, 1e9, 64)  # fmt: skip
    plan = EpochSampler([e.tokens for e in examples], 2, seed=4).optimiser_steps(0, 3)
    assert [(len(step.batches), len(step.members)) for step in plan] == [(3, 6), (1, 1)]
    assert [step.share for step in plan] == [0.75, 1.0]
    for step in plan:
        expected_loss = slow_mean(pipeline, examples, step, loss)
        expected = gradients(model)
        model.zero_grad(set_to_none=True)
        found: dict[str, torch.Tensor] = {}
        with monkeypatch.context() as patch:
            patch.setattr(optimizer, "zero_grad", lambda found=found: found.update(gradients(model)))
            outcome = stepper.take(step, Wishes, 1, str)
        model.zero_grad(set_to_none=True)
        assert outcome.loss == pytest.approx(expected_loss, rel=1e-6)
        assert outcome.grad_norm == pytest.approx(
            float(torch.stack([g.square().sum() for g in expected.values()]).sum().sqrt()), rel=1e-5
        )
        assert found.keys() == expected.keys()
        for name, gradient in expected.items():
            assert torch.allclose(found[name], gradient, rtol=1e-5, atol=1e-9), name


@pytest.mark.parametrize("limit", [32, 64, 120, 10_000])
def test_a_document_goes_through_the_encoder_once_where_it_fits_into_memory_and_twice_where_it_does_not(
    tiny_pipeline: Pipeline, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = without_dropout(tiny_pipeline)
    model = pipeline.model.double().train()
    examples, _ = build_examples(documents(7), pipeline.tokenizer, pipeline.chunker, LABELS, pipeline.task)
    accelerator = start_accelerator(torch.device("cpu"), torch.float32, 0)
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.0))
    loss = pipeline.task.loss(model.readout, [e.target for e in examples], 3)
    stepper = Stepper(pipeline, accelerator, optimizer, Schedule(optimizer, 9, 0.0), pipeline.placement,
                      examples, loss, None, 1e9, limit)  # fmt: skip
    (step,) = EpochSampler([e.tokens for e in examples], 7, seed=4).optimiser_steps(0, 1)
    (batch,) = step.batches
    groups = stepper._groups(batch)
    assert sorted(member for group in groups for member in group) == list(range(7))
    sizes = [[examples[member].tokens for member in group] for group in groups]
    assert all(sum(group) <= limit or len(group) == 1 for group in sizes)
    fits = [sum(e.tokens for e in examples) <= limit, len({e.tokens <= limit for e in examples}) > 1]
    assert fits == {32: [False, True], 64: [False, True], 120: [False, True], 10_000: [True, False]}[limit]
    seen: Counter[tuple[int, int]] = Counter()
    inner = model.chunk_rows

    def count(given: Any) -> torch.Tensor:
        for owner, chunk in zip(given.owner.tolist(), given.chunks, strict=True):
            seen[int(chunk.span.end), len(chunk), owner] += 1  # type: ignore[index]
        return inner(given)

    expected_loss = slow_mean(pipeline, examples, step, loss)
    expected = gradients(model)
    model.zero_grad(set_to_none=True)
    monkeypatch.setattr(model, "chunk_rows", count)
    found: dict[str, torch.Tensor] = {}
    with monkeypatch.context() as patch:
        patch.setattr(optimizer, "zero_grad", lambda: found.update(gradients(model)))
        outcome = stepper.take(step, Wishes, 1, str)
    assert outcome.loss == pytest.approx(expected_loss, rel=1e-6)
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, rtol=1e-5, atol=1e-9), name
    assert sum(seen.values()) == sum(len(e.chunks) * (1 if e.tokens <= limit else 2) for e in examples)
    assert sorted(member for members, _ in stepper._losses for member in members) == list(range(7))


def test_losses_that_look_across_a_batch_keep_its_documents_together(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples, _ = build_examples(
        documents(7), tiny_pipeline.tokenizer, tiny_pipeline.chunker, LABELS, tiny_pipeline.task
    )
    stepper = Stepper(tiny_pipeline, None, None, None, tiny_pipeline.placement, examples, None, None, 1.0, 64)  # type: ignore[arg-type]
    assert len(stepper._groups(range(7))) > 1
    assert all(group == sorted(group) for group in stepper._groups(range(7)))
    monkeypatch.setattr(type(tiny_pipeline.task), "learns_in_twos", True)
    assert stepper._groups(range(7)) == [list(range(7))]


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def slow_mean(pipeline: Pipeline, examples: Any, step: Step, loss: Any) -> float:
    """Document after document, chunk after chunk, each divided by the documents of the step; gradients are left."""
    total = 0.0
    for member in step.members:
        example = examples[member]
        rows = [
            pipeline.model.chunk_rows(collate([chunk], [0], 1, pipeline.tokenizer.pad_id)) for chunk in example.chunks
        ]
        weights = torch.tensor([float(chunk.core.end - chunk.core.start) for chunk in example.chunks])
        scores = pipeline.model.documents(torch.cat(rows), torch.zeros(len(rows), dtype=torch.int64), weights, 1)
        part = loss(scores, [example.target]).sum() / len(step.members)
        part.backward()
        total += float(part.detach())
    return total


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: not enough memory: you tried to"),
    ],
)
def test_where_memory_runs_out_the_micro_batch_is_halved_and_the_step_repeated(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:  # fmt: skip
    pipeline = without_dropout(tiny_pipeline)
    real, tried, memory = steps.backward_through_documents, [], 1_000_000

    def with_little_memory(model: Any, batches: Any, *rest: Any) -> torch.Tensor:
        together = batches if rest[-1] else batches[:1]  # one pass keeps all of them
        tokens = sum(len(chunk) for batch in together for chunk in batch.chunks)
        tried.append(tokens)
        value = real(model, batches, *rest)  # gradients of a failed try must not stay
        if tokens > memory:
            raise error
        return value

    monkeypatch.setattr(steps, "backward_through_documents", with_little_memory)
    run(pipeline, tmp_path / "small", "micro_batch_tokens=64")
    small, memory = tried.copy(), 64
    tried.clear()
    with caplog.at_level(logging.WARNING):
        run(pipeline, tmp_path / "large", "micro_batch_tokens=256")
    assert caplog.messages == [
        "out of memory: `training.micro_batch_tokens` is 64 from here on, 256 did not fit; the step is repeated and "
        "nothing is lost"
    ]
    assert all(tokens > 64 for tokens in tried[:2])
    assert tried[2:] == small
    assert lines(tmp_path / "large") == lines(tmp_path / "small")


def test_where_not_even_one_chunk_fits_the_run_ends_and_says_what_to_do(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_memory(*_: Any) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(steps, "backward_through_documents", without_memory)
    with pytest.raises(LongDocError) as caught:
        run(tiny_pipeline, tmp_path, "micro_batch_tokens=40")
    assert str(caught.value) == (
        "a step does not fit into memory, with one chunk of 32 tokens at a time. Lower "
        "`training.per_device_train_batch_size` or `chunking.size`, or free memory."
    )


def test_a_loss_that_is_not_finite_ends_the_run_before_it_spoils_the_weights(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = without_dropout(tiny_pipeline)
    train = documents(12)
    step = EpochSampler([1] * 12, 4, seed=0).optimiser_steps(1, 1)[1]
    real = type(pipeline.task).loss
    calls = []

    def loss(self: Any, *given: Any, **named: Any) -> Any:
        inner = real(self, *given, **named)

        def spoiled(scores: torch.Tensor, targets: Any) -> torch.Tensor:
            calls.append(1)
            losses = inner(scores, targets)
            return (
                losses * torch.tensor([float("nan") if n == 2 else 1.0 for n in range(4)])
                if len(calls) == 5
                else losses
            )

        return spoiled

    monkeypatch.setattr(type(pipeline.task), "loss", loss)
    with pytest.raises(LongDocError) as caught:
        run(pipeline, tmp_path, "save_steps=2", train=train)
    third = step.batches[0][2]
    assert str(caught.value) == (
        f"the loss of step 5 is not finite, with the training document number {third + 1} "
        f"(#{short_digest(train[third].id)}). The last good checkpoint is {tmp_path / 'checkpoints' / 'step-000004'}. "
        "Look at the document, or lower `training.learning_rate`."
    )


def test_a_gradient_that_is_not_finite_ends_the_run_too(
    tiny_pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = steps.backward_through_documents

    def spoiled(model: Any, *rest: Any) -> torch.Tensor:
        value = real(model, *rest)
        next(p for p in model.parameters() if p.grad is not None).grad[0] = float("inf")
        return value

    monkeypatch.setattr(steps, "backward_through_documents", spoiled)
    with pytest.raises(LongDocError) as caught:
        run(tiny_pipeline, tmp_path, train=documents(1))
    assert str(caught.value) == (
        f"the gradient of step 1 is not finite, with the training document number 1 (#{short_digest('d0')}). There "
        "is no checkpoint yet. Look at the document, or lower `training.learning_rate`."
    )


def test_products_in_bf16_leave_weights_and_losses_in_fp32(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline = without_dropout(tiny_pipeline)
    formats = set()
    run(pipeline, tmp_path / "fp32", "mixed_precision=fp32")
    with pytest.MonkeyPatch.context() as patch:
        linear = torch.nn.functional.linear

        def watched(*given: Any, **named: Any) -> torch.Tensor:
            value = linear(*given, **named)
            formats.add(value.dtype)
            return value

        patch.setattr(torch.nn.functional, "linear", watched)
        run(pipeline, tmp_path / "bf16", "mixed_precision=bf16")
    assert torch.bfloat16 in formats
    fp32, bf16 = lines(tmp_path / "fp32"), lines(tmp_path / "bf16")
    assert bf16 != fp32
    for one, other in zip(bf16, fp32, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=0.02)
    assert {t.dtype for t in load_file(tmp_path / "bf16" / "model.safetensors").values()} == {torch.float32}


@pytest.mark.parametrize(
    ("asked", "launched", "expected"),
    [
        ("auto", "", "cpu-fp32"),
        ("auto", "no", "cpu-fp32"),
        ("auto", "bf16", "cpu-bf16"),
        ("fp32", "bf16", "cpu-fp32"),
        ("bf16", "no", "cpu-bf16"),
    ],
)
def test_the_format_is_what_was_asked_for_and_else_what_accelerate_was_told(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, asked: Any, launched: str, expected: str
) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
    assert training_placement(tiny_pipeline.placement, asked).name == expected


@pytest.mark.parametrize(
    ("asked", "launched", "message"),
    [
        ("fp16", "no", f"`training.mixed_precision: fp16` {NO_GPU}"),
        ("auto", "fp16", f"`accelerate launch --mixed_precision fp16` {NO_GPU}"),
        ("auto", "fp8", "`accelerate launch --mixed_precision` must be no, bf16 or fp16, but is fp8."),
    ],
)
def test_a_format_that_cannot_be_had_is_refused(
    tiny_pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, asked: Any, launched: str, message: str
) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
    with pytest.raises(LongDocError) as caught:
        training_placement(tiny_pipeline.placement, asked)
    assert str(caught.value) == message

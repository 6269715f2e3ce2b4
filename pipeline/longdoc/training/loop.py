"""Training, as one story: documents, rows, loss, gradients, evaluation, the best epoch kept.

Accelerate is visible here and nowhere else in the package's training: it chooses processes and devices, scales
losses and steps the optimiser. The model is not wrapped: ranks hold different numbers of chunks, so gradients are
summed over processes explicitly, once a step.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed

from longdoc.errors import ConfigurationError, LongDocError
from longdoc.model import LongDocModel
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.text.batching import PlannedBatch, collate, plan_batches
from longdoc.training.data import EpochSampler, Example, build_examples
from longdoc.training.evaluation import metrics_of
from longdoc.training.loss import DocumentLoss
from longdoc.training.row_cache import backward_through_documents
from longdoc.training.settings import TrainingConfig
from longdoc.types import ChunkBatch, Document, DocumentFailure, DocumentResult, Task

__all__ = ["BEST_SO_FAR", "TrainingProgress", "TrainingReport", "fine_tune"]

BEST_SO_FAR = Path("checkpoints", "best")
"""Where a run that is still going keeps the model folder of its best epoch; gone when the run has ended."""

_LOWER_IS_BETTER = frozenset({"loss", "rmse", "mae", "expected_calibration_error", "log_loss"})


@dataclass(frozen=True)
class TrainingProgress:
    """Where a run stands: for progress bars. Numbers only."""

    phase: str
    epoch: int
    epochs: int
    done: int
    total: int
    loss: float | None = None
    metric: float | None = None
    improved: bool = False


@dataclass
class TrainingReport:
    """What a run did.

    Attributes:
        best_epoch: counted from 1; 0 when there was no validation set (the last epoch is kept).
        metric: name of the metric that chose it.
        best: its value on the validation documents.
        validation: all metrics of the best epoch.
        empty_documents: training documents without a token, left out.
        seconds: wall time.
    """

    best_epoch: int = 0
    metric: str = "loss"
    best: float = math.nan
    validation: dict[str, Any] = field(default_factory=dict)
    train_documents: int = 0
    validation_documents: int = 0
    empty_documents: int = 0
    steps: int = 0
    seconds: float = 0.0


def fine_tune(
    pipeline: Pipeline,
    train: Sequence[Document],
    validation: Sequence[Document],
    output: Path,
    settings: TrainingConfig,
    progress: Callable[[TrainingProgress], None] | None = None,
    card: Callable[[TrainingReport], str] | None = None,
) -> TrainingReport:
    """Train the pipeline's model on whole documents and write the best epoch as a model folder.

    Args:
        pipeline: with the model to train; holds the best weights afterwards.
        train, validation: labelled documents; `validation` may be empty (then the last epoch is kept).
        output: the run's folder: `metrics.jsonl` and the model folder's files.
        settings: see `TrainingConfig`.
        progress: called now and then with numbers.
        card: makes the README.md of the model folder from the report.

    Returns:
        What happened, also written as lines of `metrics.jsonl`.
    """
    started = time.monotonic()
    accelerator = Accelerator(
        gradient_accumulation_steps=settings.gradient_accumulation_steps,
        cpu=pipeline.placement.device.type == "cpu",
    )
    set_seed(settings.seed, device_specific=True)
    task, labels, model = pipeline.settings.task, pipeline.labels, pipeline.model
    model.to(accelerator.device)
    frozen = _freeze(model, settings.freeze)

    examples, empty = build_examples(train, pipeline.tokenizer, pipeline.chunker, labels, task)
    loss = DocumentLoss(task, [e.target for e in examples], len(labels), settings.class_weights)
    rows = _FrozenRows(pipeline) if frozen else None
    report = TrainingReport(
        metric=_metric_name(settings.metric_for_best_model, task, bool(validation)),
        train_documents=len(examples),
        validation_documents=len(validation),
        empty_documents=len(empty),
    )
    sampler = EpochSampler(
        [e.tokens for e in examples],
        settings.per_device_train_batch_size,
        settings.seed,
        accelerator.num_processes,
        accelerator.process_index,
    )
    optimizer = accelerator.prepare(_optimizer(model, settings))
    total = settings.num_train_epochs * -(-sampler.steps // settings.gradient_accumulation_steps)
    schedule = _Schedule(optimizer, total, settings.warmup_ratio)

    def tell(phase: str, epoch: int, done: int, of: int, **numbers: Any) -> None:
        if progress is not None and accelerator.is_main_process:
            progress(TrainingProgress(phase, epoch, settings.num_train_epochs, done, of, **numbers))

    output.mkdir(parents=True, exist_ok=True)
    best_weights: dict[str, torch.Tensor] | None = None
    best_results: list[DocumentResult] = []
    with _MetricsFile(output / "metrics.jsonl", accelerator.is_main_process) as metrics_file:
        if rows is not None:
            rows.compute(train, validation, lambda done, of: tell("rows", 0, done, of))
        for epoch in range(settings.num_train_epochs):
            model.train()
            if frozen:
                model.encoder.eval()
            window_loss, window_documents, window_tokens, window_start = 0.0, 0, 0, time.monotonic()
            for number, (members, documents) in enumerate(sampler.epoch(epoch)):
                last = number + 1 == sampler.steps
                step_now = (number + 1) % settings.gradient_accumulation_steps == 0 or last
                value = _backward(pipeline, examples, members, documents, loss, rows, settings, accelerator)
                if step_now:
                    _sum_gradients(model, accelerator)
                    accelerator.clip_grad_norm_(
                        [p for p in model.parameters() if p.requires_grad], settings.max_grad_norm
                    )
                    schedule.before_step()
                    optimizer.step()
                    optimizer.zero_grad()
                    report.steps += 1
                window_loss += value * documents
                window_documents += documents
                window_tokens += sum(examples[m].tokens for m in members)
                if step_now and (report.steps % settings.logging_steps == 0 or last):
                    mean = window_loss / max(1, window_documents)
                    if not math.isfinite(mean):
                        raise LongDocError(
                            f"the loss is not finite after {report.steps} steps. Lower `training.learning_rate`."
                        )
                    seconds = max(time.monotonic() - window_start, 1e-9)
                    metrics_file.write(
                        step=report.steps,
                        epoch=round(epoch + (number + 1) / sampler.steps, 4),
                        loss=mean,
                        learning_rate=schedule.learning_rate,
                        tokens_per_second=round(window_tokens * accelerator.num_processes / seconds, 1),
                    )
                    tell("train", epoch + 1, number + 1, sampler.steps, loss=mean)
                    window_loss, window_documents, window_tokens = 0.0, 0, 0
                    window_start = time.monotonic()
            if validation:
                tell("validate", epoch + 1, 0, len(validation))
                results = _predict(pipeline, validation, rows, accelerator)
                scores = metrics_of(pipeline, validation, results, resamples=0)
                metrics_file.write(step=report.steps, epoch=epoch + 1, split="validation", **scores)
                value = float("nan" if scores[report.metric] is None else scores[report.metric])
                improved = best_weights is None or _better(value, report.best, report.metric)
                tell("validate", epoch + 1, len(validation), len(validation), metric=value, improved=improved)
                if improved:
                    report.best_epoch, report.best, best_results = epoch + 1, value, results
                    best_weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
                    if accelerator.is_main_process and not frozen:  # an epoch that took long must survive a crash
                        (output / BEST_SO_FAR).parent.mkdir(exist_ok=True)
                        pipeline.save(output / BEST_SO_FAR)
    if best_weights is not None:
        model.load_state_dict(best_weights)
        report.validation = metrics_of(pipeline, validation, best_results)
    model.eval()
    report.seconds = time.monotonic() - started
    if accelerator.is_main_process:
        pipeline.save(output, card(report) if card is not None else "")
        shutil.rmtree(output / BEST_SO_FAR.parts[0], ignore_errors=True)  # the same weights as the model folder's
    accelerator.wait_for_everyone()
    return report


def _backward(
    pipeline: Pipeline,
    examples: Sequence[Example],
    members: Sequence[int],
    documents: int,
    loss: DocumentLoss,
    rows: _FrozenRows | None,
    settings: TrainingConfig,
    accelerator: Accelerator,
) -> float:
    """Gradients of the mean loss over the step's documents, of which `members` are this process's share."""
    mine = [examples[m] for m in members]
    targets = [e.target for e in mine]
    value = torch.zeros((), device=accelerator.device)
    if mine:

        def total(logits: torch.Tensor) -> torch.Tensor:
            return loss(logits, targets).sum() / documents

        if rows is not None:
            cached, owner, weights = rows.gather(members, accelerator.device)
            value = total(pipeline.model.documents(cached, owner, weights, len(mine)))
            accelerator.backward(value)
            value = value.detach()
        else:
            batches = [b.to(accelerator.device) for b in _micro_batches(mine, pipeline, settings.micro_batch_tokens)]
            value = backward_through_documents(
                pipeline.model, batches, len(mine), total, pipeline.placement, accelerator.backward
            )
    return float(accelerator.reduce(value, reduction="sum"))


def _micro_batches(mine: Sequence[Example], pipeline: Pipeline, tokens: int) -> Iterator[ChunkBatch]:
    """All chunks of the documents, sorted by length, cut by tokens; owners count the documents of this step."""
    pairs = [(number, chunk) for number, example in enumerate(mine) for chunk in example.chunks]
    size = pipeline.settings.chunking.size
    batching = pipeline.prediction.batching.model_copy(
        update={"deterministic": False, "tokens": max(tokens, size), "read_ahead": sum(e.tokens for e in mine) + 1}
    )
    for planned in plan_batches(pairs, size, batching):
        yield _training_batch(planned, len(mine), pipeline.tokenizer.pad_id)


def _training_batch(planned: PlannedBatch, documents: int, pad_id: int) -> ChunkBatch:
    return collate(planned.chunks, planned.owners, documents, pad_id, length=planned.length)


def _sum_gradients(model: LongDocModel, accelerator: Accelerator) -> None:
    """Each rank holds the gradient of its own documents, already divided by the step's count: the sum is the whole."""
    if accelerator.num_processes == 1:
        return
    for parameter in model.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad = accelerator.reduce(parameter.grad, reduction="sum")


def _predict(
    pipeline: Pipeline, documents: Sequence[Document], rows: _FrozenRows | None, accelerator: Accelerator
) -> list[DocumentResult]:
    """Answers for whole documents, each once: shared out by number, gathered, and put in order by number."""
    pipeline.model.eval()
    numbers = list(range(accelerator.process_index, len(documents), accelerator.num_processes))
    if rows is not None:
        kept = [rows.validation[n] for n in numbers]
        results = [pipeline.answer(item) if isinstance(item, DocumentRows) else item for item in kept]
    else:
        results = pipeline.predict([documents[n] for n in numbers])
    gathered = list(zip(numbers, results, strict=True))
    if accelerator.num_processes > 1:
        gathered = gather_object(gathered)
    by_number = dict(gathered)
    return [by_number[n] for n in range(len(documents))]


class _FrozenRows:
    """Rows of documents under a frozen encoder: computed once by the same code as predictions, then kept in memory.

    F floats a chunk: a thousand documents of ten chunks take 15 MB with MiniLM.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.train: list[DocumentRows] = []
        self.validation: list[DocumentRows | DocumentFailure] = []

    def compute(
        self, train: Sequence[Document], validation: Sequence[Document], tell: Callable[[int, int], None]
    ) -> None:
        total = len(train) + len(validation)
        for done, item in enumerate(self.pipeline.stream_rows([*train, *validation])):
            if done >= len(train):
                self.validation.append(item)
            elif isinstance(item, DocumentRows):
                self.train.append(item)
            elif item.reason != "empty":
                raise LongDocError(
                    f"training document number {done + 1} cannot be encoded: {item.reason} ({item.stage}). Remove it."
                )
            tell(done + 1, total)

    def gather(self, members: Sequence[int], device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """rows (N, F), owner (N,), weights (N,) of training examples."""
        parts = [self.train[m] for m in members]
        owner = torch.cat([torch.full((len(part.rows),), number) for number, part in enumerate(parts)])
        rows, weights = torch.cat([part.rows for part in parts]), torch.cat([part.weights for part in parts])
        return rows.to(device), owner.to(device), weights.to(device)


class _Schedule:
    """Linear warm-up to the full learning rate, then linear decay to zero, in optimiser steps."""

    def __init__(self, optimizer: Any, total: int, warmup_ratio: float) -> None:
        self.optimizer = optimizer
        self.full = [group["lr"] for group in optimizer.param_groups]
        self.total = total
        self.warmup = round(total * warmup_ratio)
        self.step = 0

    def before_step(self) -> None:
        factor = self.factor(self.step)
        for group, full in zip(self.optimizer.param_groups, self.full, strict=True):
            group["lr"] = full * factor
        self.step += 1

    def factor(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.0, (self.total - step) / max(1, self.total - self.warmup))

    @property
    def learning_rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])


class _MetricsFile:
    """`metrics.jsonl`: one object a line, numbers only, each line whole."""

    def __init__(self, path: Path, active: bool) -> None:
        self.path, self.active = path, active
        self.file: IO[str] | None = None

    def __enter__(self) -> _MetricsFile:
        if self.active:
            self.file = self.path.open("w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()

    def write(self, **values: Any) -> None:
        if self.file is not None:
            self.file.write(json.dumps(values) + "\n")
            self.file.flush()


def _freeze(model: LongDocModel, names: Sequence[str]) -> bool:
    """Stop gradients of everything under the names. True when no parameter of the encoder learns."""
    for name in names:
        touched = [p for n, p in model.named_parameters() if n == name or n.startswith(name + ".")]
        if not touched:
            tops = sorted({".".join(n.split(".")[:2]) for n, _ in model.named_parameters()})
            raise ConfigurationError(
                f"`training.freeze` names {name!r}, but the model has no such part. It has: encoder, {', '.join(tops)}."
            )
        for parameter in touched:
            parameter.requires_grad_(False)
    if not any(p.requires_grad for p in model.parameters()):
        raise ConfigurationError("`training.freeze` must leave something to train, but freezes the whole model.")
    return not any(p.requires_grad for p in model.encoder.parameters())


def _optimizer(model: LongDocModel, settings: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW: the encoder and the new parts learn at rates of their own; vectors (biases, norms) do not decay."""
    head_rate = settings.head_learning_rate or 10 * settings.learning_rate
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            rate = settings.learning_rate if name.startswith("encoder.") else head_rate
            decay = 0.0 if parameter.ndim < 2 or "position" in name else settings.weight_decay
            groups.setdefault((rate, decay), []).append(parameter)
    return torch.optim.AdamW([{"params": p, "lr": lr, "weight_decay": decay} for (lr, decay), p in groups.items()])


def _metric_name(asked: str, task: Task, has_validation: bool) -> str:
    known = {
        "single_label": ("loss", "accuracy", "macro_f1", "micro_f1"),
        "multi_label": ("loss", "macro_f1", "micro_f1", "macro_average_precision"),
        "regression": ("loss", "rmse", "mae", "r2"),
    }[task]
    if not has_validation:
        return "loss"
    if asked == "auto":
        return "rmse" if task == "regression" else "macro_f1"
    if asked not in known:
        raise ConfigurationError(
            f"`training.metric_for_best_model` must be auto or one of {', '.join(known)}, but is {asked!r} instead."
        )
    return asked


def _better(value: float, best: float, metric: str) -> bool:
    if math.isnan(value):
        return False
    return math.isnan(best) or (value < best if metric in _LOWER_IS_BETTER else value > best)

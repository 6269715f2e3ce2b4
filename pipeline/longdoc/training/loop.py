"""Training, as one story: documents, rows, loss, gradients, evaluation, the best epoch kept.

Accelerate is visible here and nowhere else in the package's training: it chooses processes and devices, scales
losses and steps the optimiser. The model is not wrapped: ranks hold different numbers of chunks, so gradients are
summed over processes explicitly, once a step.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed

from longdoc.errors import LongDocError
from longdoc.files import make_folder, write_text
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.text.batching import collate, plan_batches
from longdoc.training.data import EpochSampler, Example, build_examples, check_readable
from longdoc.training.decisions import fit_on_validation
from longdoc.training.evaluation import metrics_of
from longdoc.training.frozen_rows import FrozenRows, rows_in_bytes
from longdoc.training.metrics_file import MetricsFile
from longdoc.training.optimizer import LinearSchedule, build_optimizer, freeze_parts
from longdoc.training.progress import TrainingProgress, TrainingReport
from longdoc.training.row_cache import backward_through_documents
from longdoc.training.selection import BestEpoch, chosen_metric
from longdoc.training.settings import TrainingConfig
from longdoc.types import ChunkBatch, Document, DocumentResult

__all__ = ["BEST_SO_FAR", "TrainingProgress", "TrainingReport", "fine_tune"]

BEST_SO_FAR = Path("checkpoints", "best")
"""Where a run that is still going keeps the model folder of its best epoch; gone when the run has ended."""


def fine_tune(
    pipeline: Pipeline,
    train: Sequence[Document],
    validation: Sequence[Document],
    output: Path,
    settings: TrainingConfig,
    progress: Callable[[TrainingProgress], None] | None = None,
    card: Callable[[TrainingReport], str] | None = None,
    configuration: str = "",
    rows: Callable[[Pipeline], FrozenRows] | None = None,
) -> TrainingReport:
    """Train the pipeline's model on whole documents and write the best epoch as a model folder.

    Args:
        pipeline: with the model to train; holds the best weights afterwards.
        train, validation: labelled documents; `validation` may be empty (then the last epoch is kept).
        output: the run's folder: `metrics.jsonl` and the model folder's files.
        settings: see `TrainingConfig`.
        progress: called now and then with numbers.
        card: makes the README.md of the model folder from the report.
        configuration: the text of `config.resolved.yaml`.
        rows: where the rows of a frozen encoder come from; those who have them already pass their own. None = they are
            computed, or found in `training.rows_folder`.

    Returns:
        What happened, also written as lines of `metrics.jsonl`.

    Raises:
        DataError, ConfigurationError: documents and settings do not fit together; nothing was written.
    """
    started = time.monotonic()
    folder = Path(settings.rows_folder) if settings.rows_folder else None
    run = _Run(pipeline, train, validation, output, settings, progress, rows or partial(FrozenRows, folder=folder))
    run.begin(configuration)
    with MetricsFile(output / "metrics.jsonl", run.accelerator.is_main_process) as metrics:
        run.encode_frozen()
        for epoch in range(settings.num_train_epochs):
            run.train_epoch(epoch, metrics)
            if validation:
                run.validate(epoch, metrics)
    report = run.finish()
    report.seconds = time.monotonic() - started
    if run.accelerator.is_main_process:
        pipeline.save(output, card(report) if card is not None else "", overwrite=True)
        shutil.rmtree(output / BEST_SO_FAR.parts[0], ignore_errors=True)  # the same weights as the model folder's
    run.accelerator.wait_for_everyone()
    return report


class _Run:
    """One run: what is fixed when it begins, and its stages."""

    def __init__(
        self,
        pipeline: Pipeline,
        train: Sequence[Document],
        validation: Sequence[Document],
        output: Path,
        settings: TrainingConfig,
        progress: Callable[[TrainingProgress], None] | None,
        rows: Callable[[Pipeline], FrozenRows],
    ) -> None:
        self.pipeline, self.settings = pipeline, settings
        self.train, self.validation, self.output = train, validation, output
        self.progress = progress
        self.accelerator = Accelerator(
            gradient_accumulation_steps=settings.gradient_accumulation_steps,
            cpu=pipeline.placement.device.type == "cpu",
        )
        set_seed(settings.seed, device_specific=True)
        self.model = pipeline.model
        self.model.to(self.accelerator.device)
        self.frozen = freeze_parts(self.model, settings.freeze)
        task, labels, readout = pipeline.task, pipeline.labels, self.model.readout
        unknown = pipeline.prediction.max_unknown_share
        if validation:
            check_readable(validation, pipeline.tokenizer, pipeline.chunker, unknown)
        self.examples, left_out = build_examples(
            train, pipeline.tokenizer, pipeline.chunker, labels, task, unknown, readout
        )
        self.loss = task.loss(readout, [e.target for e in self.examples], readout.classes, settings.class_weights)
        self.rows = rows(pipeline) if self.frozen and self._can_keep_rows() else None
        metric = chosen_metric(settings.metric_for_best_model, task, bool(validation))
        self.best = BestEpoch(metric, metric in task.lower_is_better)
        task.check_decisions(settings.decisions, len(validation))
        self.report = TrainingReport(
            metric=self.best.metric,
            train_documents=len(self.examples),
            validation_documents=len(validation),
            empty_documents=left_out["empty"],
            unreadable_documents=left_out.total() - left_out["empty"],
        )
        self.sampler = EpochSampler(
            [e.tokens for e in self.examples],
            settings.per_device_train_batch_size,
            settings.seed,
            self.accelerator.num_processes,
            self.accelerator.process_index,
        )
        self.optimizer = self.accelerator.prepare(build_optimizer(self.model, settings))
        steps = -(-self.sampler.steps // settings.gradient_accumulation_steps)
        self.schedule = LinearSchedule(self.optimizer, settings.num_train_epochs * steps, settings.warmup_ratio)

    def _can_keep_rows(self) -> bool:
        """Whether rows can be computed once for all epochs; the readout is told to make such ones."""
        readout = self.model.readout
        if not readout.learns_rows:
            return True
        if not readout.keep_states(True):
            return False
        chunks = sum(len(example.chunks) for example in self.examples)
        read, measured = (sum(len(document.text) for document in part) for part in (self.train, self.validation))
        bytes_needed = rows_in_bytes(readout, chunks) * (1 + measured / max(1, read))
        return readout.keep_states(bytes_needed <= self.settings.kept_rows_gb * 1e9)

    def begin(self, configuration: str) -> None:
        """Make the folder. What an earlier run left there unfinished goes: this one starts over."""
        if self.accelerator.is_main_process:
            shutil.rmtree(self.output / BEST_SO_FAR.parts[0], ignore_errors=True)
            make_folder(self.output)
            write_text(self.output / "config.resolved.yaml", configuration)
        self.accelerator.wait_for_everyone()

    def encode_frozen(self) -> None:
        """Rows of all documents, where the encoder does not learn."""
        if self.rows is not None:
            self.rows.compute(
                self.examples, self.train, self.validation, lambda done, of: self._tell("rows", 0, done, of)
            )

    def train_epoch(self, epoch: int, metrics: MetricsFile) -> None:
        """Every training document once."""
        settings, sampler = self.settings, self.sampler
        self.model.train()
        if self.frozen:
            self.model.encoder.eval()
        window = _Window()
        for number, (members, documents) in enumerate(sampler.epoch(epoch)):
            last = number + 1 == sampler.steps
            step_now = (number + 1) % settings.gradient_accumulation_steps == 0 or last
            value = self._backward(members, documents)
            if step_now:
                self._step()
            window.add(value, documents, sum(self.examples[m].tokens for m in members))
            if step_now and (self.report.steps % settings.logging_steps == 0 or last):
                mean = window.mean_loss
                if not math.isfinite(mean):
                    raise LongDocError(
                        f"the loss is not finite after {self.report.steps} steps. Lower `training.learning_rate`."
                    )
                metrics.write(
                    step=self.report.steps,
                    epoch=round(epoch + (number + 1) / sampler.steps, 4),
                    loss=mean,
                    learning_rate=self.schedule.learning_rate,
                    tokens_per_second=round(window.tokens_per_second * self.accelerator.num_processes, 1),
                )
                self._tell("train", epoch + 1, number + 1, sampler.steps, loss=mean)
                window = _Window()

    def validate(self, epoch: int, metrics: MetricsFile) -> None:
        """Answer the validation documents; keep the epoch if it is the best."""
        documents = self.validation
        self._tell("validate", epoch + 1, 0, len(documents))
        results = self._predict(documents)
        scores = metrics_of(self.pipeline, documents, results, resamples=0)
        metrics.write(step=self.report.steps, epoch=epoch + 1, split="validation", **scores)
        value = float("nan" if scores[self.best.metric] is None else scores[self.best.metric])
        improved = self.best.offer(epoch + 1, value, results, self.model)
        self._tell("validate", epoch + 1, len(documents), len(documents), metric=value, improved=improved)
        if improved and self.accelerator.is_main_process and not self.frozen:
            # An epoch of a whole encoder takes long: it must survive a crash.
            make_folder((self.output / BEST_SO_FAR).parent)
            self.pipeline.save(self.output / BEST_SO_FAR, overwrite=True)

    def finish(self) -> TrainingReport:
        """Put the best weights back, fit how their scores become answers, and say what happened."""
        self.model.readout.keep_states(False)
        if self.best.weights is not None:
            self.model.load_state_dict(self.best.weights)
            self.report.best_epoch, self.report.best = self.best.epoch, self.best.value
            fit_on_validation(self.pipeline, self.validation, self.best.results, self.settings.decisions)
            self.report.validation = metrics_of(self.pipeline, self.validation, self.best.results)
            self.report.unanswered_validation = sum(not result.ok for result in self.best.results)
        self.model.eval()
        return self.report

    def _tell(self, phase: str, epoch: int, done: int, of: int, **numbers: Any) -> None:
        if self.progress is not None and self.accelerator.is_main_process:
            self.progress(TrainingProgress(phase, epoch, self.settings.num_train_epochs, done, of, **numbers))

    def _backward(self, members: Sequence[int], documents: int) -> float:
        """Gradients of the mean loss over the step's documents, of which `members` are this process's share."""
        mine = [self.examples[m] for m in members]
        targets = [e.target for e in mine]
        value = torch.zeros((), device=self.accelerator.device)
        if mine:

            def total(scores: torch.Tensor) -> torch.Tensor:
                return self.loss(scores, targets).sum() / documents

            if self.rows is not None:
                cached, owner, weights = self.rows.gather(members, self.accelerator.device)
                value = total(self.model.documents(cached, owner, weights, len(mine)))
                self.accelerator.backward(value)
                value = value.detach()
            else:
                batches = [batch.to(self.accelerator.device) for batch in self._micro_batches(mine)]
                value = backward_through_documents(
                    self.model, batches, len(mine), total, self.pipeline.placement, self.accelerator.backward
                )
        return float(self.accelerator.reduce(value, reduction="sum"))

    def _micro_batches(self, mine: Sequence[Example]) -> Iterator[ChunkBatch]:
        """All chunks of the documents, sorted by length, cut by tokens; owners count the documents of this step."""
        pairs = [(number, chunk) for number, example in enumerate(mine) for chunk in example.chunks]
        size = self.pipeline.settings.chunking.size
        batching = self.pipeline.prediction.batching.model_copy(
            update={
                "deterministic": False,
                "tokens": max(self.settings.micro_batch_tokens, size),
                "read_ahead": sum(e.tokens for e in mine) + 1,
            }
        )
        pad_id = self.pipeline.tokenizer.pad_id
        for planned in plan_batches(pairs, size, batching):
            yield collate(planned.chunks, planned.owners, len(mine), pad_id, length=planned.length)

    def _step(self) -> None:
        """One step of the optimiser. Each rank holds the gradient of its own documents, already divided by the step's
        count: the sum is the whole."""
        learning = [p for p in self.model.parameters() if p.requires_grad]
        if self.accelerator.num_processes > 1:
            for parameter in learning:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = self.accelerator.reduce(parameter.grad, reduction="sum")
        self.accelerator.clip_grad_norm_(learning, self.settings.max_grad_norm)
        self.schedule.before_step()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.report.steps += 1

    def _predict(self, documents: Sequence[Document]) -> list[DocumentResult]:
        """Answers for whole documents, each once: shared out by number, gathered, and put in order by number."""
        pipeline, accelerator = self.pipeline, self.accelerator
        pipeline.model.eval()
        numbers = list(range(accelerator.process_index, len(documents), accelerator.num_processes))
        if self.rows is not None:
            kept = [(self.rows.validation[n], documents[n]) for n in numbers]
            results = [pipeline.answer(item, d) if isinstance(item, DocumentRows) else item for item, d in kept]
        else:
            results = list(pipeline.stream_measured([documents[n] for n in numbers]))
        gathered = list(zip(numbers, results, strict=True))
        if accelerator.num_processes > 1:
            gathered = gather_object(gathered)
        by_number = dict(gathered)
        return [by_number[n] for n in range(len(documents))]


class _Window:
    """Loss and speed since the last line of metrics."""

    def __init__(self) -> None:
        self.loss, self.documents, self.tokens = 0.0, 0, 0
        self.start = time.monotonic()

    def add(self, loss: float, documents: int, tokens: int) -> None:
        self.loss += loss * documents
        self.documents += documents
        self.tokens += tokens

    @property
    def mean_loss(self) -> float:
        return self.loss / max(1, self.documents)

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(time.monotonic() - self.start, 1e-9)

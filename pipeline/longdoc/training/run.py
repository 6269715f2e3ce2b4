"""One training run: what is fixed when it begins, and its stages."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from longdoc.errors import ConfigurationError, InterruptedTrainingError, UsageError
from longdoc.files import make_folder, write_text
from longdoc.interruption import Interruption
from longdoc.pipeline import Pipeline
from longdoc.training.averages import Average
from longdoc.training.chunk_sampling import check_sampling, sampled_chunks
from longdoc.training.data import EpochSampler, build_examples, check_readable
from longdoc.training.decisions import fit_on_validation
from longdoc.training.evaluation import metrics_of
from longdoc.training.frozen_rows import FrozenRows, rows_in_bytes
from longdoc.training.lora import add_adapters, merge_adapters, merged
from longdoc.training.metrics_file import MetricsFile
from longdoc.training.mixed_precision import training_placement
from longdoc.training.optimizer import build_optimizer, freeze_parts
from longdoc.training.processes import gathered, start_accelerator
from longdoc.training.progress import TrainingProgress, TrainingReport
from longdoc.training.recomputing import recompute_layers
from longdoc.training.resume import Identity
from longdoc.training.run_layout import BEST_SO_FAR
from longdoc.training.run_state import RunState
from longdoc.training.saving import Saver, Unfinished
from longdoc.training.schedules import Schedule
from longdoc.training.selection import BestEpoch, chosen_metric
from longdoc.training.settings import TrainingConfig
from longdoc.training.steps import StepGivenUp, Stepper, Wishes
from longdoc.training.validation import Validator
from longdoc.types import Document

__all__ = ["TrainingRun"]

_log = logging.getLogger(__name__)


class TrainingRun:
    """What `fine_tune` tells the story of; its arguments are those of `fine_tune`."""

    def __init__(
        self,
        pipeline: Pipeline,
        train: Sequence[Document],
        validation: Sequence[Document],
        output: Path,
        settings: TrainingConfig,
        progress: Callable[[TrainingProgress], None] | None,
        rows: Callable[[Pipeline], FrozenRows],
        interruption: Interruption,
        configuration: str,
        saves: bool,
    ) -> None:
        self.pipeline, self.settings = pipeline, settings
        self.train, self.validation, self.output = train, validation, output
        self.progress, self.interruption = progress, interruption
        placement = training_placement(pipeline.placement, settings.mixed_precision)
        self.accelerator = start_accelerator(placement.device, placement.dtype, settings.seed)
        self.model = pipeline.model
        self.model.to(self.accelerator.device)
        self.frozen = freeze_parts(self.model, settings.freeze)
        if settings.rows_folder and not self.frozen and self.accelerator.is_main_process:
            _log.warning("`training.rows_folder` has no effect, since the encoder learns: its rows change in each step")
        if settings.lora is not None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(settings.seed + 2)
                add_adapters(self.model, settings.lora)
        task, labels, readout = pipeline.task, pipeline.labels, self.model.readout
        unknown = pipeline.prediction.max_unknown_share
        if validation:
            check_readable(validation, pipeline.tokenizer, pipeline.chunker, unknown, task)
        self.examples, left_out = build_examples(
            train, pipeline.tokenizer, pipeline.chunker, labels, task, unknown, readout
        )
        loss = task.training_loss(settings, readout, [e.target for e in self.examples], labels)
        self.rows = rows(pipeline) if self.frozen and self._can_keep_rows() else None
        check_sampling(settings.chunks_per_document, task, self.rows is not None)
        recompute_layers(self.model, settings.checkpoint_activations)
        metric = chosen_metric(settings.metric_for_best_model, task, bool(validation))
        self.best = BestEpoch(metric, metric in task.lower_is_better)
        task.check_decisions(settings.decisions, len(validation))
        if settings.early_stopping_patience is not None and not validation:
            raise ConfigurationError(
                "`training.early_stopping_patience` needs validation documents, but there are none. Pass "
                "`--validation`, or set it to null."
            )
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
            [int(e.target.flatten()[0]) for e in self.examples] if task.learns_in_twos else None,
        )
        batches = [[self.examples[m].target for m in members] for members in self.sampler.every_batch(0)]
        for remark in task.check_batches(batches):
            if self.accelerator.is_main_process:
                _log.warning(remark)
        optimizer = self.accelerator.prepare(build_optimizer(self.model, settings, settings.layer_decay))
        steps = -(-self.sampler.steps // settings.gradient_accumulation_steps)
        self.total_steps = settings.num_train_epochs * steps
        self.schedule = Schedule(optimizer, self.total_steps, settings.warmup_ratio, settings.schedule)
        self.stepper = Stepper(
            *(pipeline, self.accelerator, optimizer, self.schedule, placement, self.examples, loss, self.rows),
            *(settings.max_grad_norm, settings.micro_batch_tokens),
            lambda: self.interruption.requested and self._can_stop,
        )
        rank, processes = self.accelerator.process_index, self.accelerator.num_processes
        self.state = RunState(
            self.model, self.stepper, self.best, self.report, partial(gathered, self.accelerator), rank
        )
        self.validator = Validator(pipeline, self.accelerator, validation, self.rows)
        identity = Identity(configuration, train, validation, self.sampler.sizes.tolist(), self.model, processes)
        self.saver = Saver(
            *(output, settings, identity, self.state, self.accelerator.is_main_process),
            *(self.accelerator.wait_for_everyone, saves),
        )

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

    def begin(self, configuration: str, unfinished: Unfinished) -> int:
        """Make the folder, and go on from what an earlier run left there or remove it.

        Returns:
            Bytes of `metrics.jsonl` that stay.
        """
        checkpoint = self.saver.find(unfinished)
        found = gathered(self.accelerator, None if checkpoint is None else checkpoint.numbers["step"])
        if len(set(found)) > 1:
            raise UsageError("`output` must be one folder that all processes see, but they see different checkpoints.")
        if checkpoint is not None:
            self.state.put_back(checkpoint)
            self._tell("resume", self.state.epoch + 1, self.report.steps, self.total_steps)
        if self.accelerator.is_main_process:
            self.saver.clear()
            make_folder(self.output)
            write_text(self.output / "config.resolved.yaml", configuration)
        self.accelerator.wait_for_everyone()
        return 0 if checkpoint is None else int(checkpoint.numbers["metrics_bytes"])

    def encode_frozen(self) -> None:
        """Rows of all documents, where the encoder does not learn."""
        if self.rows is not None:
            self.rows.compute(
                self.examples, self.train, self.validation, lambda done, of: self._tell("rows", 0, done, of)
            )

    def train_epoch(self, epoch: int, metrics: MetricsFile) -> None:
        """Every training document once, from where the epoch stands."""
        settings, state = self.settings, self.state
        self.model.train()
        if self.frozen:
            self.model.encoder.eval()
        steps = self.sampler.optimiser_steps(epoch, settings.gradient_accumulation_steps)
        if epoch != state.epoch:
            state.epoch, state.done = epoch, 0
        learned = sampled_chunks(self.examples, settings.chunks_per_document, settings.seed, epoch)
        self.stepper.examples = learned
        self.interruption.patient = self.saver.active
        for step in steps[state.done :]:
            try:
                outcome = self.stepper.take(step, self._wishes, self.report.steps + 1, self.saver.kept)
            except StepGivenUp:
                if not self.report.steps:
                    raise KeyboardInterrupt from None  # nothing is lost, and there is nothing to go on from
                self._stop(metrics)
            self.report.steps += 1
            state.done += 1
            state.average.add(outcome.loss, len(step.members), sum(learned[m].tokens for m in step.members))
            if self.report.steps % settings.logging_steps == 0 or state.done == len(steps):
                mean = state.average.mean_loss
                metrics.write(
                    step=self.report.steps,
                    epoch=round(epoch + step.share, 4),
                    loss=mean,
                    learning_rate=self.schedule.learning_rate,
                    grad_norm=outcome.grad_norm if math.isfinite(outcome.grad_norm) else None,
                    tokens_per_second=round(state.average.tokens_per_second, 1),
                )
                speed = state.average.tokens_per_second
                self._tell("train", epoch + 1, state.done, len(steps), loss=mean, tokens_per_second=speed)
                state.average = Average()
            if outcome.wishes.stop or (self.interruption.requested and self._can_stop):
                self._stop(metrics)
            if outcome.wishes.save or self.saver.is_due():
                self.saver.save(metrics)
        # Nobody waits for validation but where others would wait for ever.
        self.interruption.patient = self.saver.active and self.accelerator.num_processes > 1

    @property
    def _can_stop(self) -> bool:
        """Whether it may stop without a word to other processes, and go on later."""
        return self.saver.active and self.accelerator.num_processes == 1

    def _wishes(self) -> Wishes:
        return Wishes(self.saver.wishes_to_save(), self.interruption.requested)

    def _stop(self, metrics: MetricsFile) -> None:
        self.saver.save(metrics)
        raise InterruptedTrainingError(
            f"stopped after step {self.report.steps} of {self.total_steps}. The same command goes on from there."
        )

    def validate(self, epoch: int, metrics: MetricsFile) -> None:
        """Answer the validation documents; keep the epoch if it is the best."""
        documents = self.validation
        self._tell("validate", epoch + 1, 0, len(documents))
        if self.interruption.requested and self._can_stop:
            self._stop(metrics)
        try:
            results = self.validator.answers()
        except KeyboardInterrupt:
            if self._can_stop:
                self._stop(metrics)
            raise
        self.interruption.patient = self.saver.active
        scores = metrics_of(self.pipeline, documents, results, resamples=0)
        metrics.write(step=self.report.steps, epoch=epoch + 1, split="validation", **scores)
        value = float("nan" if scores[self.best.metric] is None else scores[self.best.metric])
        loss = float("nan" if scores["loss"] is None else scores["loss"])
        improved = self.best.offer(epoch + 1, value, results, self.model, loss)
        self._tell("validate", epoch + 1, len(documents), len(documents), metric=value, improved=improved)
        if improved and self.accelerator.is_main_process and not self.frozen:
            # An epoch of a whole encoder takes long: it must survive a crash.
            make_folder((self.output / BEST_SO_FAR).parent)
            with merged(self.model):
                self.pipeline.save(self.output / BEST_SO_FAR, overwrite=True)

    @property
    def drawn_score(self) -> str:
        """The measure whose curve is drawn: the one that chooses the epoch, or the task's own where the loss does."""
        metric = self.best.metric
        return self.pipeline.task.automatic if metric == "loss" else metric

    def has_enough(self, epoch: int) -> bool:
        """Whether so many epochs in a row were no better that another one is not tried."""
        patience = self.settings.early_stopping_patience
        self.report.stopped_early = (
            patience is not None
            and epoch + 1 - self.best.reached >= patience
            and epoch + 1 < self.settings.num_train_epochs
        )
        return self.report.stopped_early

    def finish(self) -> TrainingReport:
        """Put the best weights back, fit how their scores become answers, and say what happened."""
        self.interruption.patient = False
        if self.best.weights is not None:
            self.model.load_state_dict(self.best.weights)
            if not self.best.results:  # of before a stop: computed again rather than stored, as they hold answers
                self.best.results = self.validator.answers()
        self.model.readout.keep_states(False)
        merge_adapters(self.model)
        if self.best.weights is not None:
            self.report.best_epoch, self.report.best = self.best.epoch, self.best.value
            self.report.epochs_alike = self.best.alike
            fit_on_validation(self.pipeline, self.validation, self.best.results, self.settings.decisions)
            self.report.validation = metrics_of(self.pipeline, self.validation, self.best.results)
            self.report.unanswered_validation = sum(not result.ok for result in self.best.results)
        self.model.eval()
        self.report.seconds, self.report.epochs = self.saver.elapsed, self.state.epoch + 1
        return self.report

    def _tell(self, phase: str, epoch: int, done: int, of: int, **numbers: Any) -> None:
        if self.progress is not None and self.accelerator.is_main_process:
            whole: dict[str, Any] = {"step": self.report.steps, "steps": self.total_steps, "score": self.best.metric}
            self.progress(TrainingProgress(phase, epoch, self.settings.num_train_epochs, done, of, **numbers, **whole))

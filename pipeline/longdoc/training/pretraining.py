"""Masked-language-model training, as one story: a corpus, hidden tokens, guesses, gradients, the best kept.

As in `loop.py`, Accelerate chooses processes and devices, the model is not wrapped, and gradients are summed over
processes explicitly, once a step: ranks hold different numbers of chunks.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from longdoc.allocator import kept_freed_memory
from longdoc.checkpoints.language_models import save_language_model
from longdoc.errors import ConfigurationError, DataError, LongDocError
from longdoc.files import make_folder, write_text
from longdoc.nn import Encoder
from longdoc.nn.heads import LanguageHead
from longdoc.precision import Placement
from longdoc.text.tokenizing import DocumentTokenizer
from longdoc.training.as_it_was import AsItWas
from longdoc.training.checkpointing import clear_checkpoints
from longdoc.training.curves import write_curves
from longdoc.training.metrics_file import MetricsFile
from longdoc.training.optimizer import build_optimizer, freeze_parts
from longdoc.training.pretraining_data import Corpus, MaskedBatch, masked_batches, steps_of_epoch
from longdoc.training.pretraining_loss import MaskedLanguageModel
from longdoc.training.pretraining_masking import MaskedChunk, Masking
from longdoc.training.pretraining_settings import PretrainingConfig
from longdoc.training.progress import TrainingProgress
from longdoc.training.run_layout import BEST_SO_FAR
from longdoc.training.schedules import Schedule

__all__ = ["LanguageModelling", "PretrainingReport", "pretrain_encoder"]


@dataclass
class LanguageModelling:
    """What is trained, and on what.

    Attributes:
        encoder, head: hold the best weights afterwards.
        new_head: whether the head starts from nothing.
        tokenizer: the encoder's own.
        size: tokens of the longest chunk.
        train, validation: chunks; `validation` may be None (then the last step is kept).
        placement: where and in which number format.
    """

    encoder: Encoder
    head: LanguageHead
    new_head: bool
    tokenizer: DocumentTokenizer
    size: int
    train: Corpus
    validation: Corpus | None
    placement: Placement


@dataclass
class PretrainingReport:
    """What a run did.

    Attributes:
        documents, tokens, chunks: of the training corpus.
        left_out, validation_left_out: documents that could not be read, by reason.
        new_head: whether the head started from nothing.
        first, best, best_step: perplexity on the validation texts before the first step, the lowest, and after which
            step; NaN and 0 without validation texts.
        accuracy: share of hidden validation tokens that were guessed at the best step.
        steps, hidden: optimiser steps, and tokens that were guessed in them.
        seconds: wall time.
    """

    documents: int = 0
    tokens: int = 0
    chunks: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    validation_left_out: Counter[str] = field(default_factory=Counter)
    new_head: bool = False
    first: float = math.nan
    best: float = math.nan
    best_step: int = 0
    accuracy: float = math.nan
    steps: int = 0
    hidden: int = 0
    seconds: float = 0.0


def pretrain_encoder(
    subject: LanguageModelling,
    output: Path,
    settings: PretrainingConfig,
    progress: Callable[[TrainingProgress], None] | None = None,
    card: Callable[[PretrainingReport], str] = lambda report: "",
    configuration: str = "",
) -> PretrainingReport:
    """Train an encoder to guess hidden tokens and write the best step as a checkpoint folder.

    Args:
        subject: model, tokenizer and chunks.
        output: the run's folder: `metrics.jsonl`, `curves.svg` and the checkpoint's files.
        settings: see `PretrainingConfig`.
        progress: called now and then with numbers.
        card: makes the README.md of the folder from the report.
        configuration: the text of `config.resolved.yaml`.

    Raises:
        ConfigurationError, CheckpointError: settings, model and tokenizer do not fit together; nothing was written.
    """
    started = time.monotonic()
    run = _Run(subject, output, settings, progress, card)
    with AsItWas(output) as before:
        before.begun = lambda: run.report.steps > 0
        run.begin(configuration)
        with (
            kept_freed_memory(run.accelerator.device.type == "cpu"),
            MetricsFile(output / "metrics.jsonl", run.accelerator.is_main_process) as metrics,
        ):
            run.measure(metrics)
            for epoch, number, last_of_epoch, chunks in run.steps():
                run.step(epoch, chunks, metrics)
                if run.is_due(number, last_of_epoch):
                    run.measure(metrics)
                    if run.accelerator.is_main_process:
                        write_curves(output, "perplexity")
    run.report.seconds = time.monotonic() - started
    run.finish()
    return run.report


class _Run:
    """One run: what is fixed when it begins, and its stages."""

    def __init__(
        self,
        subject: LanguageModelling,
        output: Path,
        settings: PretrainingConfig,
        progress: Callable[[TrainingProgress], None] | None,
        card: Callable[[PretrainingReport], str],
    ) -> None:
        if settings.batch_tokens < subject.size:
            raise ConfigurationError(
                f"`pretraining.batch_tokens` must be at least `chunking.size` ({subject.size}), but is "
                f"{settings.batch_tokens} instead. Raise it, or lower `chunking.size`."
            )
        self.subject, self.settings, self.output = subject, settings, output
        self.progress, self.card = progress, card
        self.masking = Masking(settings, subject.tokenizer, subject.encoder.config.vocab_size)
        self.accelerator = Accelerator(cpu=subject.placement.device.type == "cpu")
        set_seed(settings.seed, device_specific=True)
        self.model = MaskedLanguageModel(subject.encoder, subject.head).to(self.accelerator.device)
        self.frozen = freeze_parts(self.model, settings.freeze, "pretraining")
        rates = settings.model_copy(
            update={"head_learning_rate": settings.head_learning_rate or settings.learning_rate}
        )
        self.optimizer = self.accelerator.prepare(build_optimizer(self.model, rates))
        self.lengths = subject.train.lengths
        self.steps_an_epoch = len(steps_of_epoch(self.lengths, settings.batch_tokens, settings.seed, 0))
        self.total = settings.max_steps or settings.num_train_epochs * self.steps_an_epoch
        self.schedule = Schedule(self.optimizer, self.total, settings.warmup_ratio)
        self.report = PretrainingReport(
            documents=subject.train.documents,
            tokens=subject.train.tokens,
            chunks=len(subject.train.chunks),
            left_out=subject.train.left_out,
            validation_left_out=Counter() if subject.validation is None else subject.validation.left_out,
            new_head=subject.new_head,
        )
        self.best: dict[str, torch.Tensor] | None = None
        self.window = _Window()

    @property
    def epochs(self) -> int:
        return -(-self.total // self.steps_an_epoch)

    def begin(self, configuration: str) -> None:
        """Make the folder. What an earlier run left there unfinished goes: this one starts over."""
        if self.accelerator.is_main_process:
            clear_checkpoints(self.output)
            make_folder(self.output)
            write_text(self.output / "config.resolved.yaml", configuration)
        self.accelerator.wait_for_everyone()

    def steps(self) -> Iterator[tuple[int, int, bool, Sequence[int]]]:
        """Epoch, number of the step from 1, whether it ends its epoch, and its chunks, over all processes."""
        number = 0
        for epoch in range(self.epochs):
            steps = steps_of_epoch(self.lengths, self.settings.batch_tokens, self.settings.seed, epoch)
            for place, chunks in enumerate(steps):
                number += 1
                yield epoch, number, place + 1 == len(steps), chunks.tolist()
                if number == self.total:
                    return

    def step(self, epoch: int, chunks: Sequence[int], metrics: MetricsFile) -> None:
        """One step of the optimiser: the mean loss over all tokens hidden in its chunks, whatever the micro-batches.

        Every process masks all chunks, which is cheap, so that all know the count; each computes its share.
        """
        corpus, accelerator = self.subject.train, self.accelerator
        masked = [self.masking.train(corpus.chunks[n], corpus.owners[n], epoch, corpus.words_of(n)) for n in chunks]
        hidden = sum(chunk.hidden for chunk in masked)
        self.model.train()
        if self.frozen:
            self.model.encoder.eval()
        total = torch.zeros((), dtype=torch.float64, device=accelerator.device)
        for batch in self._share(masked):
            with self.subject.placement.autocast():
                guesses = self.model(batch)
            accelerator.backward(guesses.loss / hidden)
            total += guesses.loss.detach()
        self._update()
        self.report.steps += 1
        self.report.hidden += hidden
        self.window.add(float(accelerator.reduce(total, reduction="sum")), hidden, sum(len(m.chunk) for m in masked))
        if self.report.steps % self.settings.logging_steps == 0 or self.report.steps == self.total:
            self._log(metrics)

    def measure(self, metrics: MetricsFile) -> None:
        """Guess the hidden validation tokens, always the same ones; keep the weights if they are the best so far."""
        corpus, accelerator = self.subject.validation, self.accelerator
        if corpus is None:
            return
        self.model.eval()
        numbers = range(len(corpus.chunks))
        masked = [self.masking.validation(corpus.chunks[n], corpus.owners[n], corpus.words_of(n)) for n in numbers]
        sums = torch.zeros(3, dtype=torch.float64, device=accelerator.device)
        with torch.no_grad(), self.subject.placement.autocast():
            for batch in self._share(masked):
                guesses = self.model(batch)
                sums += torch.stack([guesses.loss.double(), guesses.right.double(), torch.tensor(guesses.hidden)])
        loss, right, hidden = accelerator.reduce(sums, reduction="sum").tolist()
        if not hidden:
            raise DataError(
                f"the validation texts must be long enough that a token of theirs is hidden, but have {corpus.tokens} "
                "in all. Add some, or raise `pretraining.mask_share`."
            )
        value = loss / hidden
        perplexity = math.exp(min(value, 700.0))
        metrics.write(
            step=self.report.steps,
            epoch=round(self.report.steps / self.steps_an_epoch, 4),
            split="validation",
            loss=value,
            perplexity=perplexity,
            accuracy=right / hidden,
            hidden=int(hidden),
        )
        if not self.report.steps:
            self.report.first = perplexity
        improved = self.report.steps > 0 and math.isfinite(value) and not perplexity >= self.report.best
        if improved:
            self.report.best, self.report.best_step = perplexity, self.report.steps
            self.report.accuracy = right / hidden
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
            if accelerator.is_main_process:  # hours of work: it must survive a crash
                make_folder((self.output / BEST_SO_FAR).parent)
                self._save(self.output / BEST_SO_FAR)
        self._tell("validate", metric=perplexity, improved=improved)
        self.window = _Window()  # measuring is no training time

    def is_due(self, number: int, last_of_epoch: bool) -> bool:
        """Whether the validation texts are looked at after step `number`."""
        every = self.settings.eval_steps
        return number == self.total or (last_of_epoch if every is None else number % every == 0)

    def finish(self) -> None:
        """Put the best weights back and write the folder."""
        if self.best is not None:
            self.model.load_state_dict(self.best)
        self.model.eval()
        if self.accelerator.is_main_process:
            self._save(self.output)
            clear_checkpoints(self.output)
        self.accelerator.wait_for_everyone()

    def _save(self, folder: Path) -> None:
        subject = self.subject
        save_language_model(folder, subject.encoder, subject.head, subject.tokenizer, self.card(self.report))

    def _share(self, masked: Sequence[MaskedChunk]) -> Iterator[MaskedBatch]:
        """This process's share of some chunks: dealt out from the longest, so that the work is even."""
        accelerator = self.accelerator
        order = sorted(range(len(masked)), key=lambda n: (-len(masked[n].chunk), n))
        mine = [masked[n] for n in order[accelerator.process_index :: accelerator.num_processes]]
        tokens, pad_id = self.settings.micro_batch_tokens, self.subject.tokenizer.pad_id
        for batch in masked_batches(mine, self.subject.size, tokens, pad_id):
            yield MaskedBatch(batch.batch.to(accelerator.device), batch.targets.to(accelerator.device))

    def _update(self) -> None:
        """One step of the optimiser. Each rank holds the gradient of its own chunks, divided by the step's count."""
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

    def _log(self, metrics: MetricsFile) -> None:
        mean = self.window.mean_loss
        if mean is not None and not math.isfinite(mean):
            raise LongDocError(
                f"the loss is not finite after {self.report.steps} steps. Lower `pretraining.learning_rate`."
            )
        metrics.write(
            step=self.report.steps,
            epoch=round(self.report.steps / self.steps_an_epoch, 4),
            loss=mean,
            learning_rate=self.schedule.learning_rate,
            tokens_per_second=round(self.window.tokens_per_second, 1),
        )
        self._tell("train", loss=mean, tokens_per_second=self.window.tokens_per_second)
        self.window = _Window()

    def _tell(self, phase: str, **numbers: Any) -> None:
        if self.progress is not None and self.accelerator.is_main_process:
            epoch = min(self.report.steps // self.steps_an_epoch + 1, self.epochs)
            done = self.report.steps
            whole: dict[str, Any] = {"step": done, "steps": self.total, "score": "perplexity"}
            self.progress(TrainingProgress(phase, epoch, self.epochs, done, self.total, **numbers, **whole))


class _Window:
    """Loss and speed since the last line of metrics."""

    def __init__(self) -> None:
        self.loss, self.hidden, self.tokens = 0.0, 0, 0
        self.start = time.monotonic()

    def add(self, loss: float, hidden: int, tokens: int) -> None:
        self.loss += loss
        self.hidden += hidden
        self.tokens += tokens

    @property
    def mean_loss(self) -> float | None:
        return self.loss / self.hidden if self.hidden else None

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(time.monotonic() - self.start, 1e-9)

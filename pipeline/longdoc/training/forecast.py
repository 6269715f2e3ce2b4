"""What a training run would do, before it does it: everything is read, one micro-batch is tried, nothing is written."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from longdoc.errors import LongDocError
from longdoc.text.chunking import PreparedDocument
from longdoc.training.chunk_sampling import sampled_chunks
from longdoc.training.frozen_rows import rows_in_bytes
from longdoc.training.run import TrainingRun
from longdoc.training.run_layout import checkpoints_in
from longdoc.training.saving import Unfinished
from longdoc.training.trial import Trial, try_micro_batch

__all__ = ["TrainingForecast", "forecast_run"]

_GROUP = 64


@dataclass(frozen=True)
class TrainingForecast:
    """What a run would do. Counts are exact but where something is drawn anew each epoch; what is measured says so.

    Attributes:
        documents, validation_documents: that are learned from, and that are measured on.
        left_out: training documents that are not learned from, by reason.
        labels: of the training documents, in the order of the model, each with how many documents have it.
        chunks, tokens: of an epoch; `longest`: chunks of the longest training document.
        validation_chunks, validation_tokens: of one validation.
        epochs, steps_per_epoch, steps: of the optimiser, over all processes.
        row_cache_batches: of an epoch on one process, those with a document that does not fit into one micro-batch.
        processes, placement: how many work together, and where and in which number format.
        rows: what becomes of the rows of chunks, in words.
        state: of the output folder, in words; `done`: steps that are over.
        micro_batch_tokens: that fit into memory, measured.
        seconds: of what is not done, estimated; at most, where a run may end early.
        memory_bytes: of one process (on a GPU: of its memory) at the peak, estimated.
        model_bytes, checkpoint_bytes: on the disk in the end, and beside that while it goes on.
        refusals: why the run would not start.
        remarks: what else is wrong.
    """

    documents: int
    validation_documents: int
    left_out: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    chunks: int = 0
    tokens: int = 0
    longest: int = 0
    validation_chunks: int = 0
    validation_tokens: int = 0
    epochs: int = 0
    steps_per_epoch: int = 0
    steps: int = 0
    row_cache_batches: int = 0
    processes: int = 1
    placement: str = ""
    rows: str = ""
    state: str = "new"
    done: int = 0
    micro_batch_tokens: int = 0
    seconds: float = 0.0
    memory_bytes: int = 0
    model_bytes: int = 0
    checkpoint_bytes: int = 0
    refusals: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """What the run would end with, as far as can be known."""
        return 2 if self.refusals else 0


def forecast_run(
    run: TrainingRun, unfinished: Unfinished, refusals: Sequence[str] = (), remarks: Sequence[str] = ()
) -> TrainingForecast:
    """Count, look at the output folder, and try a micro-batch.

    Args:
        run: that has not begun.
        unfinished: what would become of a run that was stopped there.
        refusals, remarks: what is known already.

    Raises:
        LongDocError: not even one chunk fits into memory.
    """
    settings, pipeline, model, report = run.settings, run.pipeline, run.model, run.report
    done, state, refused = (0, "taken", "") if refusals else _state(run, unfinished)
    examples = sampled_chunks(run.examples, settings.chunks_per_document, settings.seed, 0)
    chunks, tokens = sum(len(e.chunks) for e in examples), sum(e.tokens for e in examples)
    validation_chunks, validation_tokens = _measured(run)
    longest = sorted(run.examples, key=lambda example: -example.tokens)
    asked = max(settings.micro_batch_tokens, pipeline.settings.chunking.size)
    placement, pad_id = run.stepper.placement, pipeline.tokenizer.pad_id
    trial = try_micro_batch(model, [c for example in longest for c in example.chunks], asked, pad_id, placement)
    steps = run.sampler.optimiser_steps(0, settings.gradient_accumulation_steps)
    batches = [batch for step in steps for batch in step.batches]
    together = pipeline.task.learns_in_twos  # whose losses look across the documents of a batch
    of_batches = [[examples[m].tokens for m in batch] for batch in batches]
    cached = [(sum(sizes) if together else max(sizes, default=0)) > trial.tokens for sizes in of_batches]
    twice = sum(
        size for sizes, is_cached in zip(of_batches, cached, strict=True) for size in sizes
        if is_cached and (together or size > trial.tokens)
    )  # fmt: skip
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    model_bytes = 4 * sum(p.numel() for p in model.parameters())
    best_bytes = model_bytes if run.validation else 0
    rows_bytes = 0 if run.rows is None else rows_in_bytes(model.readout, chunks + validation_chunks)
    # A checkpoint has the weights that learn, two moments of each, and those of the best epoch; a best epoch of a whole
    # encoder is a model folder by itself.
    checkpoint_bytes = settings.save_total_limit * 4 * learning * (4 if run.validation else 3)
    checkpoint_bytes += 0 if run.frozen else best_bytes
    free, there = _room(run.output)
    if free < model_bytes:
        refusals = (
            *refusals,
            f"The model takes {model_bytes:,} bytes, but only {free:,} are free in {there}. Make room.",
        )
    left_out = {"empty": report.empty_documents, "unreadable": report.unreadable_documents}
    seconds = _seconds(run, trial, tokens, validation_tokens, twice / max(1, sum(map(sum, of_batches))))
    return TrainingForecast(
        documents=len(run.examples),
        validation_documents=len(run.validation),
        left_out={reason: count for reason, count in left_out.items() if count},
        labels=_labels(run),
        chunks=chunks,
        tokens=tokens,
        longest=len(longest[0].chunks),
        validation_chunks=validation_chunks,
        validation_tokens=validation_tokens,
        epochs=settings.num_train_epochs,
        steps_per_epoch=len(steps),
        steps=run.total_steps,
        row_cache_batches=0 if run.rows is not None else sum(cached),
        processes=run.accelerator.num_processes,
        placement=placement.name,
        rows=_rows(run, rows_bytes, chunks),
        state=state,
        done=done,
        micro_batch_tokens=trial.tokens,
        seconds=seconds * (1 - done / run.total_steps),
        memory_bytes=trial.peak_bytes + 8 * learning + best_bytes + rows_bytes,
        model_bytes=model_bytes,
        checkpoint_bytes=checkpoint_bytes,
        refusals=(*refusals, *([refused] if refused else [])),
        remarks=(*remarks, *_remarks(run.output, asked, trial.tokens, model_bytes, checkpoint_bytes)),
    )


def _state(run: TrainingRun, unfinished: Unfinished) -> tuple[int, str, str]:
    """Steps that are over, the folder in words, and why it cannot be gone on with."""
    if unfinished == "discard":
        found = bool(checkpoints_in(run.output))
        return 0, "holds an unfinished run, which would be removed" if found else "new", ""
    try:
        checkpoint = run.saver.find(unfinished)
    except LongDocError as error:
        return 0, "not to be gone on with", str(error)
    if checkpoint is None:
        return 0, "new", ""
    done = int(checkpoint.numbers["step"])
    return done, f"holds an unfinished run, gone on with after step {done} of {run.total_steps}", ""


def _labels(run: TrainingRun) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for example in run.examples:
        counts.update(set(run.pipeline.task.gold_labels(run.train[example.number])))
    return {label: counts[label] for label in dict.fromkeys((*run.pipeline.labels, *sorted(counts))) if counts}


def _measured(run: TrainingRun) -> tuple[int, int]:
    """Chunks and tokens of the validation documents."""
    pipeline, lengths = run.pipeline, list[int]()
    for start in range(0, len(run.validation), _GROUP):
        group = run.validation[start : start + _GROUP]
        for prepared in pipeline.task.prepare(group, pipeline.tokenizer, pipeline.chunker):
            lengths.extend(map(len, prepared.chunks) if isinstance(prepared, PreparedDocument) else ())
    return len(lengths), sum(lengths)


def _rows(run: TrainingRun, rows_bytes: int, chunks: int) -> str:
    if not run.frozen:
        of_no_use = ", so `training.rows_folder` has no effect" if run.settings.rows_folder else ""
        return f"made anew in each step, since the encoder learns{of_no_use}"
    if run.rows is None:
        return f"made anew in each epoch, since {rows_in_bytes(run.model.readout, chunks):,} bytes are not kept"
    place = "" if run.rows.folder is None else f" and in {run.rows.folder}"
    return f"made once, since the encoder is frozen, and kept in memory{place}: {rows_bytes:,} bytes"


def _seconds(run: TrainingRun, trial: Trial, tokens: int, validation: int, cached: float) -> float:
    if run.rows is not None:
        return (tokens + validation) * trial.forth
    # What goes through the row cache goes forth twice.
    epoch = tokens * (trial.back_too + cached * trial.forth) + validation * trial.forth
    return run.settings.num_train_epochs * epoch / int(run.accelerator.num_processes)


def _room(output: Path) -> tuple[int, Path]:
    """Bytes that are free where a folder is or would be made."""
    there = next(folder for folder in (output.absolute(), *output.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free, there


def _remarks(output: Path, asked: int, fitting: int, model_bytes: int, more: int) -> Iterator[str]:
    if fitting < asked:
        yield f"`training.micro_batch_tokens` would become {fitting}, since {asked} do not fit into memory."
    free, there = _room(output)
    if model_bytes <= free < model_bytes + more:
        yield (
            f"Model and checkpoints may take {model_bytes + more:,} bytes, but only {free:,} are free in {there}. Make "
            "room."
        )

"""Training, as one story: documents, rows, steps, validation, the best epoch kept, checkpoints on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import yaml

from longdoc.allocator import kept_freed_memory
from longdoc.files import make_folder
from longdoc.interruption import Interruption
from longdoc.pipeline import Pipeline
from longdoc.training.as_it_was import AsItWas
from longdoc.training.checkpointing import clear_checkpoints
from longdoc.training.curves import write_curves
from longdoc.training.frozen_rows import FrozenRows
from longdoc.training.metrics_file import MetricsFile
from longdoc.training.one_at_a_time import one_at_a_time
from longdoc.training.processes import unless_others_are_gone
from longdoc.training.progress import TrainingProgress, TrainingReport
from longdoc.training.run import TrainingRun
from longdoc.training.run_layout import CHECKPOINTS
from longdoc.training.saving import Unfinished
from longdoc.training.settings import TrainingConfig
from longdoc.training.trackers import check_tracker, tracked
from longdoc.types import Document

__all__ = ["TrainingProgress", "TrainingReport", "fine_tune"]


@one_at_a_time()
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
    unfinished: Unfinished | None = None,
) -> TrainingReport:
    """Train the pipeline's model on whole documents and write the best epoch as a model folder.

    Args:
        pipeline: with the model to train; holds the best weights afterwards.
        train, validation: labelled documents; `validation` may be empty (then the last epoch is kept).
        output: the run's folder: `metrics.jsonl`, `curves.svg` and the model folder's files.
        settings: see `TrainingConfig`.
        progress: called now and then with numbers.
        card: makes the README.md of the model folder from the report.
        configuration: the text of `config.resolved.yaml`.
        rows: where the rows of a frozen encoder come from; those who have them already pass their own. None = they are
            computed, or found in `training.rows_folder`.
        unfinished: what becomes of a run that was stopped in `output`. None = no run is saved on its way, and the first
            Ctrl-C ends it at once.

    Returns:
        What happened, also written as lines of `metrics.jsonl`.

    Raises:
        DataError, ConfigurationError: documents and settings do not fit together; nothing was written.
        UsageError, CheckpointError: the unfinished run cannot be gone on with; nothing was written.
        InterruptedTrainingError: asked to stop by SIGINT or SIGTERM; a checkpoint was written.
        LongDocError: the loss is not finite, or a step does not fit into memory.
    """
    check_tracker(settings.tracker)
    folder = Path(settings.rows_folder) if settings.rows_folder else None
    configuration = configuration or yaml.safe_dump({"training": settings.model_dump(mode="json")})
    with Interruption() as interruption, AsItWas(output) as before:
        run = TrainingRun(
            *(pipeline, train, validation, output, settings, progress, rows or partial(FrozenRows, folder=folder)),
            *(interruption, configuration, unfinished is not None),
        )
        before.begun = lambda: run.report.steps > 0
        kept = run.begin(configuration, unfinished or "discard")
        is_main = run.accelerator.is_main_process
        with (
            kept_freed_memory(run.accelerator.device.type == "cpu" and run.rows is None),
            unless_others_are_gone(run.accelerator.num_processes),
            tracked(settings, output, is_main) as tell,
            MetricsFile(output / "metrics.jsonl", is_main, kept, tell) as metrics,
        ):
            run.encode_frozen()
            for epoch in range(run.state.epoch, settings.num_train_epochs):
                run.train_epoch(epoch, metrics)
                if validation:
                    run.validate(epoch, metrics)
                if is_main:
                    write_curves(output, run.drawn_score)
                if validation and run.has_enough(epoch):
                    break
        report = run.finish()
        if run.accelerator.is_main_process:
            make_folder(output / CHECKPOINTS)  # tells half a model of this run from somebody's model
            pipeline.save(output, card(report) if card is not None else "", overwrite=True)
            clear_checkpoints(output)  # the same weights as the model folder's
        run.accelerator.wait_for_everyone()
    return report

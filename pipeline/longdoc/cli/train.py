"""`longdoc train`: fine-tune on labelled documents of any length, or, with `--pretrain`, learn a language first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli import pretraining
from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load
from longdoc.cli.dry_run import DryRunOption
from longdoc.cli.train_dry_run import show_forecast
from longdoc.cli.training_display import show_training
from longdoc.training.run_layout import BEST_SO_FAR, checkpoints_in

__all__ = ["train"]

HEEDS = ("model", "chunking", "data", "read", "training", "prediction")


def train(
    output: Annotated[Path, typer.Option("--output", metavar="MODEL", help="A new folder for model and metrics.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="TRAIN", help="Labelled documents: file, folder, glob, id.")
    ] = None,
    validation: Annotated[
        list[str] | None, typer.Option("--validation", metavar="VALID", help="The same, to choose the best epoch.")
    ] = None,
    pretrain: Annotated[
        bool, typer.Option("--pretrain", help="Learn from texts without labels, by guessing hidden tokens.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that was stopped in MODEL; there must be one.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start over, and remove the run that was stopped in MODEL.")
    ] = False,
    dry: DryRunOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print it as JSON.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Fine-tune a model through whole documents; the epoch that is best on the validation documents is kept.

    A run that was stopped or killed goes on by the same command, as if it had never been stopped. With --dry-run it is
    said what a run would do, and what it would need.

    With --pretrain an encoder learns from texts without labels, and MODEL is a checkpoint for `model.source`.

    Example: longdoc train --data train.jsonl --validation valid.jsonl --output runs/mine
    """
    from longdoc.errors import UsageError

    hints: list[str] = []
    with faults_as_exit_status(lambda: " ".join([_kept(output), *hints])):
        given = {"--resume": resume, "--pretrain": pretrain, "--restart": restart, "--dry-run": dry}
        for one, other in (("--resume", "--pretrain"), ("--resume", "--restart"), ("--dry-run", "--pretrain")):
            if given[one] and given[other]:
                raise UsageError(f"`{one}` must stand without `{other}`, but they stand together. Leave one out.")
        if as_json and not dry:
            raise UsageError("`--json` needs `--dry-run`, but stands alone. Add it, or leave `--json` out.")
        if pretrain:
            pretraining.pretrain(output, data or (), validation or (), config, overrides or ())
            return
        from longdoc.api import forecast_training, train_with_report
        from longdoc.errors import counted

        resolved = load(config, overrides, "train", HEEDS)
        named = {"train": tuple(data or ()), "validation": tuple(validation or ())}
        inputs = resolved.data.model_copy(update={key: value for key, value in named.items() if value})
        resolved = resolved.model_copy(update={"data": inputs})
        if "encoder" in resolved.training.freeze and resolved.training.rows_folder is None:
            hints.append("With `--set training.rows_folder=DIR` what a frozen encoder has read is kept, too.")
        going_on = False if restart else resume or None
        if dry:
            raise typer.Exit(show_forecast(forecast_training(resolved, output, resume=going_on), output, as_json))
        if not inputs.validation:
            typer.echo("longdoc: no --validation, so the last epoch is kept and nothing is measured.", err=True)
        with show_training() as tell:
            _, report = train_with_report(resolved, output, progress=tell, resume=going_on)
        if number := report.unanswered_validation:
            noun = counted(number, "validation document")
            typer.echo(f"longdoc: {noun} without an answer, counted as wrong.", err=True)
        chosen = f"epoch {report.best_epoch} kept, {report.metric} {report.best:.4f}" if report.best_epoch else "kept"
        if report.epochs_alike > 1 and report.metric != "loss":
            chosen += f" as in {counted(report.epochs_alike - 1, 'other epoch')}, for its loss"
        if report.stopped_early:
            chosen += ", and none better came after it"
        closing_line(
            f"trained on {counted(report.train_documents, 'document')} in {counted(report.steps, 'step')} and "
            f"{report.seconds:.0f} s; {chosen}; model in {output}"
        )


def _kept(output: Path) -> str:
    """What a run leaves that was stopped at once."""
    if saved := checkpoints_in(output):
        return f"The same command goes on after step {int(saved[0].name.removeprefix('step-'))}."
    best = output / BEST_SO_FAR
    if (best / "longdoc.json").exists():
        return f"The best epoch so far is the model folder {best}: move it to keep it. The same command starts over."
    if (best / "config.json").exists():
        return f"The best step so far is the checkpoint {best}: move it to keep it. The same command starts over."
    return "Nothing was measured yet, so no model is kept: the same command starts over."

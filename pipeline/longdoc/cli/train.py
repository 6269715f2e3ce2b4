"""`longdoc train`: fine-tune on labelled documents of any length, or, with `--pretrain`, learn a language first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli import pretraining
from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_training

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
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Fine-tune a model through whole documents; the epoch that is best on the validation documents is kept.

    With --pretrain an encoder learns from texts without labels, and MODEL is a checkpoint for `model.source`.

    Example: longdoc train --data train.jsonl --validation valid.jsonl --output runs/mine
    """
    with faults_as_exit_status(lambda: _kept(output)):
        if pretrain:
            pretraining.pretrain(output, data or (), validation or (), config, overrides or ())
            return
        from longdoc.api import train_with_report
        from longdoc.errors import counted

        resolved = load(config, overrides, "train", HEEDS)
        named = {"train": tuple(data or ()), "validation": tuple(validation or ())}
        inputs = resolved.data.model_copy(update={key: value for key, value in named.items() if value})
        resolved = resolved.model_copy(update={"data": inputs})
        if not inputs.validation:
            typer.echo("longdoc: no --validation, so the last epoch is kept and nothing is measured.", err=True)
        with show_training() as tell:
            _, report = train_with_report(resolved, output, progress=tell)
        for number, noun, fate in (
            (report.empty_documents, "training document", "without a token, left out"),
            (report.unreadable_documents, "training document", "that the tokenizer hardly knows, left out"),
            (report.unanswered_validation, "validation document", "without an answer, counted as wrong"),
        ):
            if number:
                typer.echo(f"longdoc: {counted(number, noun)} {fate}.", err=True)
        chosen = f"epoch {report.best_epoch} kept, {report.metric} {report.best:.4f}" if report.best_epoch else "kept"
        closing_line(
            f"trained on {counted(report.train_documents, 'document')} in {counted(report.steps, 'step')} and "
            f"{report.seconds:.0f} s; {chosen}; model in {output}"
        )


def _kept(output: Path) -> str:
    """What a stopped run leaves. It is not gone on with: the same command starts over."""
    from longdoc.training.loop import BEST_SO_FAR

    best = output / BEST_SO_FAR
    if (best / "longdoc.json").exists():
        return f"The best epoch so far is the model folder {best}: move it to keep it. The same command starts over."
    if (best / "config.json").exists():
        return f"The best step so far is the checkpoint {best}: move it to keep it. The same command starts over."
    return "Nothing was measured yet, so no model is kept: the same command starts over."

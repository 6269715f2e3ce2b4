"""`longdoc train`: fine-tune on labelled documents of any length."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_training

__all__ = ["train"]


def train(
    output: Annotated[Path, typer.Option("--output", metavar="MODEL", help="A new folder for model and metrics.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="TRAIN", help="Labelled documents: file, folder, glob, id.")
    ] = None,
    validation: Annotated[
        list[str] | None, typer.Option("--validation", metavar="VALID", help="The same, to choose the best epoch.")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Fine-tune a model through whole documents; the epoch that is best on the validation documents is kept.

    Example: longdoc train --data train.jsonl --validation valid.jsonl --output runs/mine
    """
    with faults_as_exit_status():
        from longdoc.api import train_with_report

        resolved = load(config, overrides)
        named = {"train": tuple(data or ()), "validation": tuple(validation or ())}
        inputs = resolved.data.model_copy(update={key: value for key, value in named.items() if value})
        resolved = resolved.model_copy(update={"data": inputs})
        if not inputs.validation:
            typer.echo("longdoc: no --validation, so the last epoch is kept and nothing is measured.", err=True)
        with show_training() as tell:
            _, report = train_with_report(resolved, output, progress=tell)
        if report.empty_documents:
            typer.echo(f"longdoc: {report.empty_documents} training documents have no token, left out.", err=True)
        chosen = f"epoch {report.best_epoch} kept, {report.metric} {report.best:.4f}" if report.best_epoch else "kept"
        closing_line(
            f"trained on {report.train_documents} documents in {report.steps} steps and {report.seconds:.0f} s; "
            f"{chosen}; model in {output}"
        )

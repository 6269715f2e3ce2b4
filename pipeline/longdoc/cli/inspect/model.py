"""`longdoc inspect model`: what a model folder is."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing, say
from longdoc.cli.inspect.options import JsonOption

__all__ = ["model"]


def model(
    folder: Annotated[str, typer.Option("--model", metavar="MODEL", help="A model folder, checkpoint or id.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """What a model is: task, labels, encoder, positions, chunks, readout, decisions, weights, fingerprint.

    Example: longdoc inspect model --model runs/mine
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.study.model_description import describe_model, model_table

        heed_nothing(config, overrides, "inspect model")
        description = describe_model(resolve_checkpoint(folder))
        if as_json:
            typer.echo(json.dumps(description, indent=2, ensure_ascii=False))
            return
        say(model_table(description))
        closing_line(f"{folder}: {'a model' if description['kind'] == 'model' else 'an encoder without a task'}")

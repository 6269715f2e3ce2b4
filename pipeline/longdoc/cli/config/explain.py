"""`longdoc config explain`: what one key means."""

from __future__ import annotations

import importlib
import json
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, faults_as_exit_status, heed_nothing

__all__ = ["explain"]

_COMMANDS = {"train": "train", "train --pretrain": "pretraining", "predict": "predict", "evaluate": "evaluate",
             "explain": "explain", "compare": "compare", "embed": "embed", "inspect lengths": "inspect.lengths",
             "inspect chunks": "inspect.chunks"}  # fmt: skip
"""Commands that look at sections -> their module, which says at which."""


def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Dotted: training.learning_rate, model.readout, chunking.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of words.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """One key of the configuration: its type, default and bounds, what it means, and which commands look at it.

    Example: longdoc config explain training.learning_rate
    """
    with faults_as_exit_status():
        from longdoc.cli.config.key_words import describe_key, key_text

        heed_nothing(config, overrides, "config explain")
        described = describe_key(key)
        section = key.partition(".")[0]
        commands = [
            command
            for command, module in _COMMANDS.items()
            if section in importlib.import_module(f"longdoc.cli.{module}").HEEDS
        ]
        if as_json:
            typer.echo(json.dumps(described | {"commands": commands}, indent=2, ensure_ascii=False))
            return
        typer.echo(key_text(described, commands))

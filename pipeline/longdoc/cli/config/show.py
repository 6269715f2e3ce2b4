"""`longdoc config show`: what a file and `--set` come to."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, faults_as_exit_status

__all__ = ["show"]


def show(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="SECTION", help="Only these sections: training, model.readout.")
    ] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not at its default.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of YAML.")] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """The whole configuration, defaults included, and where each value came from: default, file or --set.

    Example: longdoc config show training --config configs/finetune_full.yaml --set training.seed=7
    """
    with faults_as_exit_status():
        from longdoc.cli.config.key_words import describe_key
        from longdoc.cli.config.origins import settings_with_origins, settings_yaml
        from longdoc.config import load_config

        for section in only or ():
            describe_key(section)  # refuses what is no key
        resolved = load_config(config, overrides or ())
        settings = settings_with_origins(resolved, None if config is None else config.name, overrides or ())
        shown = [
            setting
            for setting in settings
            if (not changed or setting.origin != "default")
            and (not only or any(f"{setting.key}.".startswith(f"{section}.") for section in only))
        ]
        if as_json:
            typer.echo(json.dumps([setting._asdict() for setting in shown], indent=2, ensure_ascii=False))
            return
        typer.echo(settings_yaml(shown) if shown else "# everything is at its default\n", nl=False)

"""`longdoc config schema`: for editors that complete and check YAML."""

from __future__ import annotations

import json

import typer

from longdoc.cli.common import ConfigOption, SetOption, faults_as_exit_status, heed_nothing

__all__ = ["schema"]


def schema(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """The JSON schema of a configuration file. Editors complete and check keys by it, with this line at the top:
    `# yaml-language-server: $schema=longdoc.schema.json`

    Example: longdoc config schema > longdoc.schema.json
    """
    with faults_as_exit_status():
        from longdoc.cli.config.editor_schema import editor_schema

        heed_nothing(config, overrides, "config schema")
        typer.echo(json.dumps(editor_schema(), indent=1, ensure_ascii=False))

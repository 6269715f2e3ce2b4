"""`longdoc config`: what a configuration comes to, what its keys mean, and a schema for editors."""

from __future__ import annotations

import typer

from longdoc.cli.config.explain import explain
from longdoc.cli.config.schema import schema
from longdoc.cli.config.show import show

__all__ = ["app"]

app = typer.Typer(
    name="config", help="What a configuration comes to, and what its keys mean.", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip
app.command("show")(show)
app.command("explain")(explain)
app.command("schema")(schema)

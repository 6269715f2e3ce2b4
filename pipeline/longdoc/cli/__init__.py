"""The command line: one file a command, each a few lines around the library. Heavy imports wait for the command."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from longdoc.cli import (
    compare,
    config,
    doctor,
    embed,
    evaluate,
    explain,
    export,
    import_checkpoint,
    inspect,
    predict,
    train,
    verify,
)
from longdoc.interruption import starting_up
from longdoc.version import __version__

__all__ = ["app", "main"]


class _PlainHelp(TyperGroup):
    """Help without the Python types of arguments: `PATH`, not `PATH <list[str]>` as newer Typer has it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        _leave_out_types(command)
        return command


def _leave_out_types(command: Any) -> None:
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name == "argument":
            vars(parameter)["display_type_rich"] = lambda ctx: None
    for inner in getattr(command, "commands", {}).values():
        _leave_out_types(inner)


app = typer.Typer(
    name="longdoc",
    cls=_PlainHelp,
    help="Predictions for documents that are longer than the model. Nothing is truncated; answers say what was read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"longdoc {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of no command."""


app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("verify")(verify.verify)
app.command("export")(export.export)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("embed")(embed.embed)
app.command("doctor")(doctor.doctor)
app.command("import-checkpoint")(import_checkpoint.import_checkpoint)
app.add_typer(inspect.app, name="inspect")
app.add_typer(config.app, name="config")


def main() -> None:
    """Run the command line; faults that a user can mend end in one line on standard error and a documented status."""
    with starting_up():
        app()

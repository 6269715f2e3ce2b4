"""The command line: one file a command, each a few lines around the library. Heavy imports wait for the command."""

from __future__ import annotations

import typer

from longdoc.cli import (
    compare,
    evaluate,
    explain,
    export,
    import_checkpoint,
    inspect,
    predict,
    train,
    verify,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="longdoc",
    help="Predictions for documents that are longer than the model. Nothing is truncated; answers say what was read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,
)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("verify")(verify.verify)
app.command("export")(export.export)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("import-checkpoint")(import_checkpoint.import_checkpoint)
app.add_typer(inspect.app, name="inspect")


def main() -> None:
    """Run the command line; faults that a user can mend end in one line on standard error and a documented status."""
    app()

"""`longdoc inspect`: what the pipeline would do, before it does it. One file a view."""

from __future__ import annotations

import typer

from longdoc.cli.inspect import chunks, lengths, masks, model, positions

__all__ = ["app"]

app = typer.Typer(
    help="What the pipeline would do: chunks, lengths, positions, masks, model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("lengths")(lengths.lengths)
app.command("chunks")(chunks.chunks)
app.command("positions")(positions.positions)
app.command("masks")(masks.masks)
app.command("model")(model.model)

"""Options that several views share, and what is done with a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["InputOption", "JsonOption", "ModelOption", "PictureOption", "check_picture", "drawn"]

InputOption = Annotated[
    list[str], typer.Option("--input", "--data", metavar="PATH", help="Files, folders or globs. Repeatable.")
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="MODEL", help="Whose tokenizer counts: a model folder, checkpoint or id.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
PictureOption = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="A picture, .png or .svg (needs longdoc[plots]).")
]


def check_picture(output: Path | None) -> None:
    """Refuse a picture that could not be drawn, before the long part."""
    if output is not None:
        from longdoc.study import pictures

        pictures.check_picture(output)


def drawn(output: Path | None) -> str:
    """The end of a closing line."""
    return f"; picture in {output}" if output is not None else ""

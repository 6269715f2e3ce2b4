"""`longdoc inspect masks`: which pairs of tokens may attend."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing
from longdoc.cli.inspect.options import JsonOption, PictureOption, check_picture, drawn

__all__ = ["masks"]


def masks(
    length: Annotated[int, typer.Option("--length", min=1, max=4096, help="Tokens of a row, padding included.")] = 32,
    padding: Annotated[int, typer.Option("--padding", min=0, help="Padding at the end.")] = 0,
    padding_left: Annotated[int, typer.Option("--padding-left", min=0, help="Padding at the start.")] = 0,
    causal: Annotated[bool, typer.Option("--causal", help="Keys up to the query only.")] = False,
    window: Annotated[int | None, typer.Option("--window", min=0, help="Keys at most so far away, each side.")] = None,
    blocks: Annotated[
        list[int] | None, typer.Option("--block", min=1, help="Tokens of a packed text. Repeatable.")
    ] = None,
    globals_: Annotated[
        list[int] | None,
        typer.Option(
            "--global",
            min=0,
            help="With --window: a position of each text that sees all and is seen by all. Repeatable.",
        ),
    ] = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Which pairs of tokens a mask allows, as a drawing.

    Example: longdoc inspect masks --length 12 --window 2 --global 0 --padding 3
    """
    with faults_as_exit_status():
        from longdoc.errors import counted
        from longdoc.study.masks import mask_of, mask_text, rules_in_words
        from longdoc.study.pictures import draw_mask

        heed_nothing(config, overrides, "inspect masks")
        check_picture(output)
        allowed, rules = mask_of(length, padding, causal, window, blocks or (), globals_ or (), padding_left)
        if output is not None:
            draw_mask(allowed, rules, output)
        if as_json:
            typer.echo(json.dumps({"rules": rules, "pairs": int(allowed.sum()), "allowed": allowed.int().tolist()}))
            return
        if length <= 64:
            typer.echo(mask_text(allowed))
        pairs = f"{int(allowed.sum())} of {counted(length * length, 'pair')}"
        closing_line(f"{rules_in_words(rules)}: {pairs} may attend{drawn(output)}")

"""`longdoc inspect positions`: what a position encoding does."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, closing_line, faults_as_exit_status, load
from longdoc.cli.inspect.options import JsonOption, PictureOption, check_picture, drawn

__all__ = ["positions"]


def positions(
    kind: Annotated[
        str | None, typer.Option("--kind", help="A position encoding: sinusoidal, rotary, alibi, shaw ...")
    ] = None,
    width: Annotated[int, typer.Option("--width", min=1, help="Width of the embeddings.")] = 64,
    heads: Annotated[int, typer.Option("--heads", min=1, help="Attention heads.")] = 4,
    length: Annotated[int, typer.Option("--length", min=1, max=4096, help="How many positions.")] = 100,
    dtype: Annotated[str, typer.Option("--dtype", help="The number format that is judged: fp32, bf16, fp16.")] = "fp32",
    options: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A field of the kind: theta=500. Repeatable.")
    ] = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """What a position encoding does, as numbers or a picture, and whether something is wrong with it.

    Without --kind it is the one that --config has in `model.encoder.position`.

    Example: longdoc inspect positions --kind rotary --width 64 --length 100 --output rotary.png
    """
    with faults_as_exit_status():
        from longdoc.config import position_config
        from longdoc.errors import UsageError, counted
        from longdoc.study.pictures import draw_positions
        from longdoc.study.positions import study_positions

        check_picture(output)
        encoder = load(config, (), "inspect positions", ()).model.encoder
        if kind is not None:
            chosen = position_config(kind, options or ())
        elif encoder is not None and not options:
            chosen = encoder.position
        else:
            raise UsageError(
                "`--kind` must name a position encoding, unless `--config` has one in `model.encoder` and nothing is "
                "set. Example: --kind rotary"
            )
        study = study_positions(chosen, width, heads, length, dtype)
        if output is not None:
            draw_positions(study, output)
        if as_json:
            typer.echo(json.dumps(study.to_dict()))
            return
        for sentence in study.verdict:
            typer.echo(sentence)
        verdict = "healthy" if not study.verdict else counted(len(study.verdict), "finding")
        closing_line(f"{study.kind}, {counted(length, 'position')} in {dtype}: {verdict}{drawn(output)}")

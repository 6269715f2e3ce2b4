"""`longdoc inspect positions`: what a position encoding does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from longdoc.cli.common import ConfigOption, closing_line, faults_as_exit_status, load
from longdoc.cli.inspect.options import JsonOption, PictureOption, check_picture, drawn

if TYPE_CHECKING:
    from longdoc.nn.position import PositionConfig

__all__ = ["positions"]


def positions(
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="A position encoding: sinusoidal, rotary, alibi, shaw ..."),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            "--width", metavar="N", min=1, help="Width of the embeddings. Default: the configuration's, or 64."
        ),
    ] = None,
    heads: Annotated[
        int | None,
        typer.Option("--heads", metavar="N", min=1, help="Attention heads. Default: the configuration's, or 4."),
    ] = None,
    length: Annotated[int, typer.Option("--length", metavar="N", min=1, max=4096, help="How many positions.")] = 100,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="DTYPE", help="The number format that is judged: fp32, bf16, fp16.")
    ] = "fp32",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A field of the kind: theta=500, or of `stacked`: 'parts=[{kind: learned}, {kind: alibi}]'. "
            "Repeatable.",
        ),
    ] = None,
    output: PictureOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """What a position encoding does, as numbers or a picture, and whether something is wrong with it.

    Without --kind it is the one that --config has in `model.encoder.position`, at that encoder's width and heads; with
    --kind of the same kind, that one's fields hold where --set says nothing else.

    Example: longdoc inspect positions --kind rotary --width 64 --length 100 --output rotary.png
    """
    with faults_as_exit_status():
        from longdoc.errors import UsageError, counted
        from longdoc.study.position_pictures import draw_positions
        from longdoc.study.positions import study_positions

        check_picture(output)
        encoder = load(config, (), "inspect positions", ()).model.encoder
        if kind is not None:
            chosen = _by_name(kind, options or (), None if encoder is None else encoder.position)
        elif encoder is not None:
            chosen = _by_name(encoder.position.kind, options or (), encoder.position)
        else:
            raise UsageError(
                "`--kind` must name a position encoding, unless `--config` has one in `model.encoder`. "
                "Example: --kind rotary"
            )
        geometry = None if encoder is None else encoder.geometry
        if geometry is not None and (width is not None or heads is not None):
            raise UsageError(
                f"`--width` and `--heads` are those of the encoder in `--config` ({geometry.width} and "
                f"{geometry.heads}). Leave out one or the other."
            )
        study = study_positions(chosen, width or 64, heads or 4, length, dtype, geometry=geometry)
        if output is not None:
            draw_positions(study, output)
        if as_json:
            typer.echo(json.dumps(study.to_dict(), allow_nan=False))
            return
        for sentence in (*study.verdict, *study.notes):
            typer.echo(sentence)
        verdict = "healthy" if not study.verdict else counted(len(study.verdict), "finding")
        closing_line(f"{study.kind}, {counted(length, 'position')} in {dtype}: {verdict}{drawn(output)}")


def _by_name(kind: str, options: Sequence[str], base: PositionConfig | None) -> PositionConfig:
    """An encoding of a kind; of kinds that hold others, the message shows how they are given.

    Raises:
        ConfigurationError: no such kind or field, or a value out of bounds.
    """
    from longdoc.config import position_config
    from longdoc.errors import ConfigurationError

    try:
        return position_config(kind, options, base)
    except ConfigurationError as error:
        if "`parts` must be given" not in str(error):
            raise
        raise ConfigurationError(f"{error} Example: --set 'parts=[{{kind: learned}}, {{kind: alibi}}]'") from None

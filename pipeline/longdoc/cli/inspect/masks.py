"""`longdoc inspect masks`: which pairs of tokens may attend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load
from longdoc.cli.inspect.options import JsonOption, PictureOption, check_picture, drawn

if TYPE_CHECKING:
    from longdoc.nn import EncoderConfig
    from longdoc.study.masks import MaskRow

__all__ = ["masks"]


def masks(
    length: Annotated[
        int, typer.Option("--length", metavar="N", min=1, max=4096, help="Tokens of a row, padding included.")
    ] = 32,
    padding: Annotated[int, typer.Option("--padding", metavar="N", min=0, help="Padding at the end.")] = 0,
    padding_left: Annotated[int, typer.Option("--padding-left", metavar="N", min=0, help="Padding at the start.")] = 0,
    causal: Annotated[bool, typer.Option("--causal", help="Keys up to the query only.")] = False,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="N", min=0, max=1 << 31, help="Keys at most so far away, each side."),
    ] = None,
    blocks: Annotated[
        list[int] | None, typer.Option("--block", metavar="N", min=1, help="Tokens of a packed text. Repeatable.")
    ] = None,
    globals_: Annotated[
        list[int] | None,
        typer.Option(
            "--global",
            metavar="N",
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

    With an encoder in --config, or --set model.encoder.window=2, it is that encoder's: each mask that its layers have.

    Example: longdoc inspect masks --length 12 --window 2 --global 0 --padding 3
    """
    with faults_as_exit_status():
        from longdoc.errors import UsageError
        from longdoc.study.masks import MaskRow, mask_of, mask_text, pairs_in_words, real_pairs, rules_in_words
        from longdoc.study.pictures import draw_mask

        configured = config is not None or bool(overrides)
        encoder = load(config, overrides, "inspect masks", ("model",)).model.encoder if configured else None
        check_picture(output)
        if encoder is not None:
            said = {"--causal": causal, "--window": window is not None, "--global": bool(globals_)}
            if twice := [option for option, given in said.items() if given]:
                raise UsageError(
                    f"`{twice[0]}` is what the encoder in the configuration says. Leave out one of the two."
                )
            _of_encoder(encoder, MaskRow(length, padding, padding_left, blocks or ()), output, as_json)
            return
        allowed, rules = mask_of(length, padding, causal, window, blocks or (), globals_ or (), padding_left)
        if output is not None:
            draw_mask(allowed, rules, output)
        if as_json:
            pairs = real_pairs(allowed)[0]
            typer.echo(json.dumps({"rules": rules, "pairs": pairs, "allowed": allowed.int().tolist()}))
            return
        if length <= 64:
            typer.echo(mask_text(allowed))
        closing_line(f"{rules_in_words(rules)}: {pairs_in_words(allowed)}{drawn(output)}")


def _of_encoder(encoder: EncoderConfig, row: MaskRow, output: Path | None, as_json: bool) -> None:
    from longdoc.errors import counted
    from longdoc.study.encoder_masks import encoder_masks
    from longdoc.study.masks import mask_text, pairs_in_words, real_pairs, rules_in_words
    from longdoc.study.pictures import draw_masks

    found = encoder_masks(encoder, row)
    named = [(f"{each.title}: {rules_in_words(each.rules)}", each.allowed) for each in found]
    if output is not None:
        draw_masks(named, output)
    if as_json:
        shown = [
            {
                "layers": each.layers,
                "rules": each.rules,
                "pairs": real_pairs(each.allowed)[0],
                "allowed": each.allowed.int().tolist(),
            }
            for each in found
        ]
        typer.echo(json.dumps(shown))
        return
    for name, allowed in named:
        if row.length <= 64:
            typer.echo(mask_text(allowed))
        typer.echo(f"{name}: {pairs_in_words(allowed)}")
    masks = "1 mask" if len(found) == 1 else f"{len(found)} masks"
    closing_line(f"{masks} in {counted(encoder.layers, 'layer')}{drawn(output)}")

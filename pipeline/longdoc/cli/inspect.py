"""`longdoc inspect`: what the pipeline would do, before it does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress

__all__ = ["app"]

app = typer.Typer(
    help="What the pipeline would do: chunks, lengths, positions, masks, model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

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


@app.command("lengths")
def lengths(
    inputs: InputOption,
    model: ModelOption = "default",
    output: PictureOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Token lengths of a corpus, what each chunk size and overlap would cost, and which one to take.

    Example: longdoc inspect lengths --input train.jsonl
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.errors import DataError, counted
        from longdoc.readers import read_documents
        from longdoc.study.lengths import length_report
        from longdoc.text.tokenizing import DocumentTokenizer
        from longdoc.types import Document

        resolved = load(config, overrides, "inspect lengths", ("read",))
        _check(output)
        tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint(model))
        counts: list[int] = []
        failed = 0
        with show_progress("count") as tell:
            for record in read_documents(inputs, resolved.read):
                if isinstance(record.document, Document):
                    counts.append(sum(len(s.token_ids) for s in tokenizer.segments(record.document.text)))
                else:
                    failed += 1
                tell(len(counts), None, failed)
        if not any(counts):
            raise DataError(
                f"`--input` must hold at least 1 document with text, but none of {len(counts) + failed} has a token."
            )
        report = length_report(counts, specials=tokenizer.specials)
        if output is not None:
            from longdoc.study.text_pictures import draw_lengths

            draw_lengths(counts, report, output)
        if as_json:
            typer.echo(json.dumps(report.to_dict() | {"unreadable": failed}, indent=2))
            return
        typer.echo(report.to_text())
        closing_line(f"{counted(len(counts), 'document')} counted, {failed} unreadable{_drawn(output)}")


@app.command("chunks")
def chunks(
    inputs: InputOption,
    model: ModelOption = "default",
    output: PictureOption = None,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many documents.")] = 5,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """The chunks of each document: tokens shown, tokens answered for, characters. Never the text itself.

    A trained model's own chunking is used; what is set goes over it, to see what would be.

    Example: longdoc inspect chunks --input letter.txt --set chunking.size=256 --set chunking.overlap=64
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.checkpoints.classifiers import holds_classifier
        from longdoc.cli.trained import model_settings
        from longdoc.errors import counted
        from longdoc.readers import read_documents
        from longdoc.study.chunks import chunk_table, describe_chunks
        from longdoc.text.tokenizing import DocumentTokenizer

        _check(output)
        folder = resolve_checkpoint(model)
        trained = (folder / "longdoc.json").is_file() or holds_classifier(folder)
        base = {"chunking": model_settings(folder).chunking.model_dump(mode="json")} if trained else None
        resolved = load(config, overrides, "inspect chunks", ("read", "chunking"), base)
        tokenizer = DocumentTokenizer.from_folder(folder)
        chunker = resolved.chunking.build(tokenizer)
        shown: list[dict[str, Any]] = []
        for record in read_documents(inputs, resolved.read):
            if len(shown) == limit:
                break
            shown.append(describe_chunks(record.document, tokenizer, chunker))
        if output is not None:
            from longdoc.study.text_pictures import draw_chunks

            draw_chunks(shown, output)
        if as_json:
            typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
            return
        for description in shown:
            typer.echo(chunk_table(description))
        closing_line(
            f"{counted(len(shown), 'document')} shown, in chunks of {resolved.chunking.size} that share "
            f"{resolved.chunking.overlap}{_drawn(output)}"
        )


@app.command("positions")
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

        _check(output)
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
        closing_line(f"{study.kind}, {counted(length, 'position')} in {dtype}: {verdict}{_drawn(output)}")


@app.command("masks")
def masks(
    length: Annotated[int, typer.Option("--length", min=1, max=4096, help="Tokens of a row, padding included.")] = 32,
    padding: Annotated[int, typer.Option("--padding", min=0, help="Padding at the end.")] = 0,
    causal: Annotated[bool, typer.Option("--causal", help="Keys up to the query only.")] = False,
    window: Annotated[int | None, typer.Option("--window", min=0, help="Keys at most so far away, each side.")] = None,
    blocks: Annotated[
        list[int] | None, typer.Option("--block", min=1, help="Tokens of a packed text. Repeatable.")
    ] = None,
    globals_: Annotated[
        list[int] | None, typer.Option("--global", min=0, help="A token that sees all and is seen by all. Repeatable.")
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
        from longdoc.study.masks import mask_of, mask_text
        from longdoc.study.pictures import draw_mask

        load(config, overrides, "inspect masks", ())
        _check(output)
        allowed, rules = mask_of(length, padding, causal, window, blocks or (), globals_ or ())
        if output is not None:
            draw_mask(allowed, rules, output)
        if as_json:
            typer.echo(json.dumps({"rules": rules, "pairs": int(allowed.sum()), "allowed": allowed.int().tolist()}))
            return
        if length <= 64:
            typer.echo(mask_text(allowed))
        closing_line(
            f"{' & '.join(rules) or 'no rule'}: {int(allowed.sum())} of {length * length} pairs may attend"
            f"{_drawn(output)}"
        )


@app.command("model")
def model(
    folder: Annotated[str, typer.Option("--model", metavar="MODEL", help="A model folder, checkpoint or id.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """What a model is: task, labels, encoder, positions, chunks, readout, decisions, weights, fingerprint.

    Example: longdoc inspect model --model runs/mine
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.study.model_description import describe_model, model_table

        load(config, overrides, "inspect model", ())
        description = describe_model(resolve_checkpoint(folder))
        if as_json:
            typer.echo(json.dumps(description, indent=2, ensure_ascii=False))
            return
        typer.echo(model_table(description))
        closing_line(f"{folder}: {'a model' if description['kind'] == 'model' else 'an encoder without a task'}")


def _check(output: Path | None) -> None:
    if output is not None:
        from longdoc.study.pictures import check_picture

        check_picture(output)


def _drawn(output: Path | None) -> str:
    return f"; picture in {output}" if output is not None else ""

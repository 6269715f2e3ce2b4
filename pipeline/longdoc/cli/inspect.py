"""`longdoc inspect`: what the pipeline would do, before it does it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress

__all__ = ["app"]

app = typer.Typer(help="What the pipeline would do: chunks, lengths.", no_args_is_help=True, rich_markup_mode=None)

InputOption = Annotated[
    list[str], typer.Option("--input", "--data", metavar="PATH", help="Files, folders or globs. Repeatable.")
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="MODEL", help="Whose tokenizer counts: a model folder, checkpoint or id.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


@app.command("lengths")
def lengths(
    inputs: InputOption,
    model: ModelOption = "default",
    as_json: JsonOption = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Token lengths of a corpus, what each chunk size and overlap would cost, and which one to take.

    Example: longdoc inspect lengths --input train.jsonl
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.readers import read_documents
        from longdoc.study.lengths import length_report
        from longdoc.text.tokenizing import DocumentTokenizer
        from longdoc.types import Document

        resolved = load(config, overrides)
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
        report = length_report(counts, specials=tokenizer.specials)
        if as_json:
            typer.echo(json.dumps(report.to_dict() | {"unreadable": failed}, indent=2))
            return
        typer.echo(report.to_text())
        closing_line(f"{len(counts)} documents counted, {failed} unreadable")


@app.command("chunks")
def chunks(
    inputs: InputOption,
    model: ModelOption = "default",
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many documents.")] = 5,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """The chunks of each document: tokens shown, tokens answered for, characters. Never the text itself.

    Example: longdoc inspect chunks --input letter.txt --set chunking.size=256 --set chunking.overlap=64
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.readers import read_documents
        from longdoc.study.chunks import chunk_table, describe_chunks
        from longdoc.text.tokenizing import DocumentTokenizer

        resolved = load(config, overrides)
        tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint(model))
        chunker = resolved.chunking.build(tokenizer)
        shown: list[dict[str, Any]] = []
        for record in read_documents(inputs, resolved.read):
            if len(shown) == limit:
                break
            shown.append(describe_chunks(record.document, tokenizer, chunker))
        if as_json:
            typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
            return
        for description in shown:
            typer.echo(chunk_table(description))
        closing_line(f"{len(shown)} documents shown")

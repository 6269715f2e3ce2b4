"""`longdoc inspect lengths`: how long documents are, and what each way of chunking would cost."""

from __future__ import annotations

import json

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, say, show_progress
from longdoc.cli.inspect.options import InputOption, JsonOption, ModelOption, PictureOption, check_picture, drawn

__all__ = ["lengths"]

HEEDS = ("read",)


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
        from longdoc.cli.next_step import Unreadable
        from longdoc.errors import DataError, counted, no_document
        from longdoc.readers import read_documents
        from longdoc.study.lengths import length_report
        from longdoc.text.tokenizing import DocumentTokenizer
        from longdoc.types import Document

        resolved = load(config, overrides, "inspect lengths", HEEDS)
        check_picture(output)
        tokenizer = DocumentTokenizer.from_folder(resolve_checkpoint(model))
        counts: list[int] = []
        unreadable = Unreadable()
        with show_progress("count") as tell:
            for record in read_documents(inputs, resolved.read):
                if isinstance(record.document, Document):
                    counts.append(sum(len(s.token_ids) for s in tokenizer.segments(record.document.text)))
                else:
                    unreadable.note(record.document)
                tell(len(counts), None, unreadable.number)
        for line in unreadable.lines():
            say(f"longdoc: {line}", err=True)
        if not (total := len(counts) + unreadable.number):
            raise no_document("--input")
        if not any(counts):
            raise DataError(f"`--input` must hold at least 1 document with text, but none of {total} has a token.")
        report = length_report(counts, specials=tokenizer.specials)
        if output is not None:
            from longdoc.study.text_pictures import draw_lengths

            draw_lengths(counts, report, output)
        if as_json:
            typer.echo(json.dumps(report.to_dict() | {"unreadable": unreadable.number}, indent=2))
            return
        typer.echo(report.to_text())
        closing_line(f"{counted(len(counts), 'document')} counted, {unreadable.number} unreadable{drawn(output)}")

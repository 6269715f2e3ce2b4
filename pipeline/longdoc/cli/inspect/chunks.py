"""`longdoc inspect chunks`: what the chunker makes of documents."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, say
from longdoc.cli.inspect.options import InputOption, JsonOption, ModelOption, PictureOption, check_picture, drawn

__all__ = ["chunks"]

HEEDS = ("read", "chunking")


def chunks(
    inputs: InputOption,
    model: ModelOption = "default",
    output: PictureOption = None,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many documents.")] = 5,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """The chunks of each document: tokens shown, tokens answered for, characters, and with `chunking.borders` why they
    begin and end there. Never the text itself.

    A trained model's own chunking is used; what is set goes over it, to see what would be. A document's question takes
    its room, unless the model is trained for a task that asks none.

    Example: longdoc inspect chunks --input letter.txt --set chunking.size=256 --set chunking.overlap=64
    """
    with faults_as_exit_status():
        from longdoc.checkpoints import resolve_checkpoint
        from longdoc.checkpoints.classifiers import holds_classifier
        from longdoc.cli.trained import model_settings
        from longdoc.errors import counted
        from longdoc.nn.readout import AnswersReadoutConfig
        from longdoc.readers import read_documents
        from longdoc.study.chunks import chunk_table, describe_chunks
        from longdoc.text.tokenizing import DocumentTokenizer

        check_picture(output)
        folder = resolve_checkpoint(model)
        trained = (folder / "longdoc.json").is_file() or holds_classifier(folder)
        settings = model_settings(folder) if trained else None
        base = None if settings is None else {"chunking": settings.chunking.model_dump(mode="json")}
        resolved = load(config, overrides, "inspect chunks", HEEDS, base)
        tokenizer = DocumentTokenizer.from_folder(folder)
        chunker = resolved.chunking.build(tokenizer)
        asks = tokenizer.pair is not None and (settings is None or isinstance(settings.readout, AnswersReadoutConfig))
        shown: list[dict[str, Any]] = []
        more = False
        for record in read_documents(inputs, resolved.read):
            if len(shown) == limit:
                more = True  # how many would take reading them all
                break
            shown.append(describe_chunks(record.document, tokenizer, chunker, asks))
        if output is not None:
            from longdoc.study.text_pictures import draw_chunks

            draw_chunks(shown, output, more)
        if as_json:
            typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
            return
        for description in shown:
            say(chunk_table(description))
        many = counted(len(shown), "document")
        rest = "; there are more, `--limit` says how many to show" if more else ""
        closing_line(
            f"{f'only the first {many}' if more else many} shown, in chunks of {resolved.chunking.size} that share "
            f"{resolved.chunking.overlap}{rest}{drawn(output)}"
        )

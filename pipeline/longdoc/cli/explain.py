"""`longdoc explain`: the passages that carried each answer, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress

__all__ = ["explain"]

HEEDS = ("model", "chunking", "read", "prediction")


def explain(
    model: Annotated[Path, typer.Option("--model", metavar="MODEL", help="A model folder.")],
    inputs: Annotated[list[str], typer.Option("--input", metavar="FILE", help="Files, folders or globs. Repeatable.")],
    output: Annotated[Path, typer.Option("--output", metavar="REPORT.html", help="The page to write.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many documents on the page.")] = 20,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show the evidence in the text, document by document: one HTML file without scripts or links.

    Example: longdoc explain --model runs/mine --input letter.txt --output report.html
    """
    with faults_as_exit_status():
        from longdoc.apart import check_apart
        from longdoc.cli.trained import own_chunking, settled
        from longdoc.config import dump_resolved
        from longdoc.errors import counted
        from longdoc.evidence import chunks_of_result
        from longdoc.files import check_file_output, write_text
        from longdoc.pipeline import Pipeline
        from longdoc.readers import read_documents
        from longdoc.readers.parsed import told_pages
        from longdoc.report.html import ExplainedDocument, explanation_page
        from longdoc.types import Document, DocumentFailure

        base = own_chunking(model, config, overrides)
        resolved = settled(load(config, overrides, "explain", HEEDS, base), model)
        check_file_output(output)
        check_apart(output, {"--input": inputs, "--model": [model]}, homes=("--model",))
        pipeline = Pipeline.load(model, resolved.prediction)
        items: list[ExplainedDocument] = []
        left_out = 0
        with show_progress("explain") as tell:
            for record in read_documents(inputs, resolved.read):
                if len(items) == limit:
                    left_out += 1
                    continue
                document = record.document
                if isinstance(document, Document):
                    result = pipeline.explain(document)
                    chunks = chunks_of_result(document, result, pipeline.tokenizer, pipeline.chunker)
                    items.append(ExplainedDocument(result, document.text, chunks, told_pages(document.meta)))
                else:
                    items.append(ExplainedDocument(document, ""))
                tell(len(items), None, 0)
        write_text(output, explanation_page(items))
        write_text(output.with_suffix(".config.resolved.yaml"), dump_resolved(resolved, HEEDS))
        failed = sum(isinstance(item.result, DocumentFailure) for item in items)
        rest = f"; {left_out} more left out by --limit {limit}" if left_out else ""
        closing_line(f"{counted(len(items), 'document')}, {failed} without an answer{rest}; report in {output}")
        if failed == len(items):
            raise typer.Exit(3)  # finished, but there is nothing that could be explained

"""`longdoc explain`: the passages that carried each answer, as a page, or as a folder of pages with an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, load, show_progress

__all__ = ["explain"]

HEEDS = ("model", "chunking", "read", "prediction")
ON_ONE_PAGE = 20


def explain(
    model: Annotated[Path, typer.Option("--model", metavar="MODEL", help="A model folder.")],
    inputs: Annotated[list[str], typer.Option("--input", metavar="FILE", help="Files, folders or globs. Repeatable.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            metavar="REPORT.html",
            help="The page to write; a name without .html or .htm is a folder, with a page for each document and "
            "an index.",
        ),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help=f"At most so many documents; {ON_ONE_PAGE} on one page, all in a folder.",
        ),
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Show the evidence in the text: one HTML file that works without network, or a folder of them with an index.

    Example: longdoc explain --model runs/mine --input letter.txt --output report.html

    Example: longdoc explain --model runs/mine --input letters --output reports
    """
    with faults_as_exit_status():
        from longdoc.apart import check_apart
        from longdoc.cli.next_step import say_tables_left_out
        from longdoc.cli.trained import own_chunking, settled
        from longdoc.config import dump_resolved
        from longdoc.errors import counted
        from longdoc.files import check_file_output, check_folder_output, only_writer, write_text
        from longdoc.jobs.sources import refuse_nothing
        from longdoc.pipeline import Pipeline
        from longdoc.readers import read_documents
        from longdoc.report.explaining import explained
        from longdoc.report.folder import check_report_folder, write_reports
        from longdoc.report.html import ExplainedDocument, explanation_page
        from longdoc.tasks import task_named
        from longdoc.types import Document, DocumentFailure

        base = own_chunking(model, config, overrides)
        resolved = settled(load(config, overrides, "explain", HEEDS, base), model)
        task_named(resolved.model.task).check_answering()
        one_page = output.suffix.lower() in (".html", ".htm")
        (check_file_output if one_page else check_folder_output)(output)
        check_apart(output, {"--input": inputs, "--model": [model]}, homes=("--model",))
        if not one_page:
            check_report_folder(output)
        say_tables_left_out(inputs, resolved.read)
        refuse_nothing(inputs, resolved.read, output)
        most = limit or (ON_ONE_PAGE if one_page else None)
        pipeline = Pipeline.load(model, resolved.prediction)
        left_out = 0

        def items() -> Iterator[ExplainedDocument]:
            nonlocal left_out
            for number, record in enumerate(read_documents(inputs, resolved.read)):
                if most is not None and number >= most:
                    left_out += 1
                elif isinstance(record.document, Document):
                    yield explained(pipeline, record.document)
                else:
                    yield ExplainedDocument(record.document, "")

        with show_progress("explain") as tell:
            if one_page:
                pages: list[ExplainedDocument] = []
                for item in items():
                    pages.append(item)
                    tell(len(pages), None, 0)
                write_text(output, explanation_page(pages, left_out=left_out))
                write_text(output.with_suffix(".config.resolved.yaml"), dump_resolved(resolved, HEEDS))
                done, failed = len(pages), sum(isinstance(page.result, DocumentFailure) for page in pages)
            else:
                with only_writer(output):
                    rows = write_reports(
                        output, items(), lambda done, failed: tell(done, None, failed), lambda: left_out
                    )
                    write_text(output / "config.resolved.yaml", dump_resolved(resolved, HEEDS))
                done, failed = len(rows), sum(row.status == "failed" for row in rows)
        rest = f"; {left_out} more left out by --limit {most}" if left_out else ""
        where = output if one_page else output / "index.html"
        closing_line(f"{counted(done, 'document')}, {failed} without an answer{rest}; report in {where}")
        if failed == done:
            raise typer.Exit(3)  # finished, but there is nothing that could be explained

"""`longdoc export`: a job's output as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import closing_line, faults_as_exit_status

__all__ = ["export"]


def export(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A finished job's folder.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write: .jsonl, .csv or .parquet.")],
) -> None:
    """Write all rows of a job, in input order, into one file.

    Example: longdoc export out predictions.jsonl
    """
    with faults_as_exit_status():
        from longdoc.jobs.export import export_job

        closing_line(f"{export_job(output, file)} rows in {file}")

"""`longdoc verify`: prove that a job answered every document exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import closing_line, faults_as_exit_status

__all__ = ["verify"]


def verify(output: Annotated[Path, typer.Argument(metavar="OUT", help="A finished job's folder.")]) -> None:
    """Re-read a job's output: every input document is there exactly once, in order, and every hash matches.

    Example: longdoc verify out
    """
    with faults_as_exit_status():
        from longdoc.jobs.verify import verify_job

        report = verify_job(output)
        closing_line(
            f"verified: {report.documents} documents in {report.parts} parts, each exactly once, hashes match; "
            f"{report.failed} of them are failures with a reason"
        )

"""`longdoc verify`: prove that a job answered every document exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing, say

__all__ = ["verify"]


def verify(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A finished job's folder.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Re-read a job's output: every input document is there exactly once, in order, and every hash matches.

    Exit status 1: it is not so, and the message names the first fault. 2: OUT is not the folder of a job.

    Example: longdoc verify out
    """
    with faults_as_exit_status():
        from longdoc.errors import CannotWriteError, JobError, counted
        from longdoc.jobs.names import PLAN_NAME
        from longdoc.jobs.verify import verify_job

        heed_nothing(config, overrides, "verify")
        try:
            report = verify_job(output)
        except JobError as error:
            if isinstance(error, CannotWriteError) or not (output / PLAN_NAME).is_file():
                raise
            say(f"longdoc: {error}", err=True)
            raise typer.Exit(1) from None
        closing_line(
            f"verified: {counted(report.documents, 'document')} in {counted(report.parts, 'part')}, each exactly once, "
            "hashes match; "
            f"{report.failed} of them are failures with a reason"
        )

"""`longdoc export`: a job's output as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longdoc.cli.common import ConfigOption, SetOption, closing_line, faults_as_exit_status, heed_nothing

__all__ = ["export"]


def export(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A finished job's folder.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write: .jsonl, .csv or .parquet; of vectors also .npy.")
    ],
    config: ConfigOption = None,
    overrides: SetOption = None,
) -> None:
    """Write all rows of a job, in input order, into one file.

    Ids and labels are written as they are; open a .csv as text where they may begin with = + - or @.

    Example: longdoc export out predictions.jsonl
    """
    with faults_as_exit_status():
        from longdoc.errors import counted
        from longdoc.files import check_file_output
        from longdoc.jobs.export import export_job

        heed_nothing(config, overrides, "export")
        check_file_output(file, "file")
        _refuse_folders_of_ours(file)
        closing_line(f"{counted(export_job(output, file), 'row')} in {file}")


def _refuse_folders_of_ours(file: Path) -> None:
    """A file in the folder of a model or a job is taken for a part of it, and goes with it."""
    from longdoc.errors import UsageError
    from longdoc.jobs.names import PLAN_NAME

    folders = file.resolve().parents
    job = next((folder for folder in folders if (folder / PLAN_NAME).is_file()), None)
    model = folders[0] if (folders[0] / "longdoc.json").is_file() else None  # below it, jobs have places of their own
    for folder, what in ((job, "job"), (model, "model")):
        if folder is not None:
            raise UsageError(
                f"`file` must lie apart from models and jobs, but {file} lies in {folder}, the folder of a {what}. "
                "Name another place, beside it."
            )

"""Whose folder a run is to be written into: a new one, that of a run that was stopped, or somebody else's."""

from __future__ import annotations

from pathlib import Path

from longdoc.checkpoints.native import LAST_FILES, refuse_other_model
from longdoc.errors import UsageError
from longdoc.training.checkpointing import clear_checkpoints
from longdoc.training.curves import CURVES
from longdoc.training.run_layout import CHECKPOINTS

__all__ = ["CONFIGURATION", "refuse_finished", "refuse_foreign"]

CONFIGURATION = "config.resolved.yaml"
"""The first file of every run: a folder without it is no run's."""

_WRITTEN = (CHECKPOINTS, "metrics.jsonl", CURVES, "README.md")
"""What a run writes over or removes, beside its configuration and the model."""


def refuse_finished(output: Path, tidy: bool = False) -> None:
    """Refuse a folder that holds a model, or files that no run wrote and this one would replace.

    A part of a model beside checkpoints is what a run left that was killed while it ended: it is let pass. Checkpoints
    beside a whole model are what a run left that was killed just after.

    Args:
        output: the folder.
        tidy: remove such checkpoints, which nobody needs.

    Raises:
        UsageError: it is such a folder.
    """
    whole = all((output / name).exists() for name in LAST_FILES)
    of_a_run = (output / CONFIGURATION).is_file() and (output / CHECKPOINTS).is_dir()
    if whole and of_a_run and tidy:
        clear_checkpoints(output)
    if whole or not of_a_run:
        refuse_other_model(output)
    refuse_foreign(output)


def refuse_foreign(output: Path) -> None:
    """Refuse a folder of somebody else, where it holds what a run would replace or remove.

    Raises:
        UsageError: it does.
    """
    if (output / CONFIGURATION).is_file():
        return
    if held := [name for name in _WRITTEN if (output / name).exists()]:
        raise UsageError(
            f"`output` must be a new folder or that of a run, but {output} holds {held[0]}, which no run wrote. Name "
            "another folder."
        )

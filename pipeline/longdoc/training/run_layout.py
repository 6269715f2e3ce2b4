"""Where a run keeps what it would go on from: by names alone, so that a command that is stopped while libraries are
still being loaded can say what is there."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["BEST_SO_FAR", "CHECKPOINTS", "checkpoints_in"]

CHECKPOINTS = "checkpoints"
"""The folder in a run's folder; gone when the run has ended."""
BEST_SO_FAR = Path(CHECKPOINTS, "best")
"""Where a run that is still going keeps the model folder of its best epoch; gone when the run has ended."""

_NAME = re.compile(r"step-\d{6,}")


def checkpoints_in(output: Path) -> list[Path]:
    """The checkpoint folders of a run's folder, newest first; whether they are whole is not looked at."""
    folder = output / CHECKPOINTS
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda path: int(path.name.removeprefix("step-")), reverse=True)

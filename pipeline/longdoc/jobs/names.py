"""Names of the files in a job's folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MANIFEST_NAME", "PART_PATTERN", "PLAN_NAME", "work_folder"]

PLAN_NAME = "_plan.json"
MANIFEST_NAME = "_manifest.json"
PART_PATTERN = "part-*"
_WORK_NAME = ".work"


def work_folder(output: Path) -> Path:
    """Where a job keeps what is not for readers: temporary files, the lock, the attempt counts."""
    return output / _WORK_NAME

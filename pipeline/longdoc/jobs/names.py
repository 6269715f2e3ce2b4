"""Names of the files in a job's folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MANIFEST_NAME", "PART_PATTERN", "PLAN_NAME", "configuration_file", "work_folder"]

PLAN_NAME = "_plan.json"
MANIFEST_NAME = "_manifest.json"
PART_PATTERN = "part-*"
_WORK_NAME = ".work"


def work_folder(output: Path) -> Path:
    """Where a job keeps what is not for readers: temporary files, the lock, the attempt counts."""
    return output / _WORK_NAME


def configuration_file(output: Path) -> Path:
    """Where a job keeps the resolved configuration that it runs with."""
    return work_folder(output) / "config.resolved.yaml"

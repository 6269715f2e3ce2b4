"""Whether a job is the one that a folder was planned for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longdoc.errors import PlanMismatchError, on_one_line
from longdoc.jobs.job_plan import JobPlan

__all__ = ["compare_plans"]


def compare_plans(old: JobPlan, intended: JobPlan, output: Path) -> None:
    """Refuse a job that is not the one that `output` was planned for; parts are not looked at.

    Raises:
        PlanMismatchError: a source or a setting differs; the message names it.
    """
    settings, sources = intended.settings, intended.sources
    remedy = "Go back to what it was, or name another output folder."
    for key in sorted(old.settings.keys() | settings.keys()):
        before, now = old.settings.get(key), settings.get(key)
        if before != now:
            what = "the model or how it predicts" if key == "predictor" else f"`{key}`"
            raise PlanMismatchError(
                f"{output} belongs to another job: {what} was {_shown(before)} when it was planned, but is "
                f"{_shown(now)} now. {remedy}"
            )
    for before, now in zip(old.sources, sources, strict=False):
        name = on_one_line(now.name)
        if before.name != now.name:
            raise PlanMismatchError(
                f"{output} belongs to another job: its inputs had {on_one_line(before.name)} where {name} is now. "
                f"{remedy}"
            )
        if before.sha256 != now.sha256:
            raise PlanMismatchError(
                f"{output} belongs to another job: the content of {name} has changed since it was planned. {remedy}"
            )
    if len(old.sources) != len(sources):
        raise PlanMismatchError(
            f"{output} belongs to another job: it was planned with {len(old.sources)} inputs, but there are "
            f"{len(sources)} now. {remedy}"
        )


def _shown(value: Any) -> str:
    return f"{value[:12]}..." if isinstance(value, str) and len(value) > 40 else repr(value)

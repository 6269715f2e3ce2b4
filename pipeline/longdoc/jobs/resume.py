"""What earlier runs have left in a job's folder."""

from __future__ import annotations

import logging
from pathlib import Path

from longdoc.errors import JobError
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.manifest import manifest_bytes, read_manifest
from longdoc.jobs.names import MANIFEST_NAME, PART_PATTERN
from longdoc.jobs.parts import PartOutcome, check_part

__all__ = ["finished_outcomes", "foreign_parts", "kept_parts"]

_log = logging.getLogger(__name__)


def kept_parts(output: Path, plan: JobPlan) -> dict[int, PartOutcome]:
    """Parts of earlier runs that fit the plan. A damaged one is left out and so done again, never skipped."""
    strangers = foreign_parts(output, plan)
    if strangers:
        raise JobError(
            f"{output} must hold no parts but those of its plan, but holds {strangers[0]}. Remove it, or name another "
            "output folder."
        )
    outcomes = {}
    for part in plan.parts:
        if (output / plan.part_name(part)).exists():
            try:
                outcomes[part.number] = check_part(output, plan, part)
            except JobError:
                _log.warning("%s is damaged: it is done again", plan.part_name(part))
    return outcomes


def foreign_parts(output: Path, plan: JobPlan) -> list[str]:
    """Files that a reader would take for parts, but the plan does not know."""
    known = {plan.part_name(part) for part in plan.parts}
    return sorted(path.name for path in output.glob(PART_PATTERN) if path.name not in known)


def finished_outcomes(output: Path, plan: JobPlan) -> dict[int, PartOutcome] | None:
    """The outcomes of a job that is complete and whole, else None. Writes nothing."""
    try:
        if read_manifest(output) is None or foreign_parts(output, plan):
            return None
        outcomes = {part.number: check_part(output, plan, part) for part in plan.parts}
        whole = (output / MANIFEST_NAME).read_bytes() == manifest_bytes(plan, outcomes)
    except JobError:
        return None
    return outcomes if whole else None

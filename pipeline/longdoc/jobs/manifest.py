"""The manifest: written last, so its presence means that the job is complete."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longdoc.errors import JobError
from longdoc.files import write_bytes
from longdoc.jobs.job_plan import SCHEMA_VERSION, JobPlan, check_schema_version, say_cut
from longdoc.jobs.names import MANIFEST_NAME, work_folder
from longdoc.jobs.parts import PartOutcome

__all__ = ["manifest_bytes", "read_manifest", "refuse_cut_sources", "total_reasons", "write_manifest"]


def manifest_bytes(plan: JobPlan, outcomes: Mapping[int, PartOutcome]) -> bytes:
    """The content of `_manifest.json`: a pure function of the plan and the parts.

    Args:
        outcomes: of every part of the plan, by number.
    """
    ordered = [outcomes[part.number] for part in plan.parts]
    tree = {
        "schema_version": SCHEMA_VERSION,
        "plan": plan.fingerprint,
        "documents": sum(outcome.documents for outcome in ordered),
        "failed": sum(outcome.failed for outcome in ordered),
        "reasons": total_reasons(ordered),
        "parts": [
            {
                "name": plan.part_name(part),
                "sha256": outcome.sha256,
                "bytes": outcome.bytes,
                "documents": outcome.documents,
                "failed": outcome.failed,
            }
            for part, outcome in zip(plan.parts, ordered, strict=True)
        ],
    }
    return (json.dumps(tree, indent=1) + "\n").encode("ascii")


def write_manifest(output: Path, plan: JobPlan, outcomes: Mapping[int, PartOutcome]) -> None:
    """Declare the job complete.

    Raises:
        CannotWriteError: it cannot be written.
    """
    write_bytes(output / MANIFEST_NAME, manifest_bytes(plan, outcomes), work_folder(output))


def read_manifest(output: Path) -> dict[str, Any] | None:
    """The manifest as it stands, or None while the job is not complete.

    Raises:
        JobError: it is damaged or of a newer longdoc.
    """
    path = output / MANIFEST_NAME
    try:
        tree = json.loads(path.read_bytes())
        check_schema_version(path, tree["schema_version"])
        if not all(isinstance(part["sha256"], str) for part in tree["parts"]):
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise JobError(f"{path} is damaged ({type(error).__name__}). Run the job again to write it anew.") from None
    return dict(tree)


def refuse_cut_sources(output: Path, plan: JobPlan) -> None:
    """Say why a job whose parts may all be done is not complete.

    Raises:
        JobError: an input could not be read to its end.
    """
    if plan.cut_sources:
        raise JobError(f"{output} is not complete: {say_cut(plan.cut_sources)}.")


def total_reasons(outcomes: Iterable[PartOutcome]) -> dict[str, int]:
    """Failed documents by reason, in the order of the alphabet."""
    reasons: Counter[str] = Counter()
    for outcome in outcomes:
        reasons.update(outcome.reasons)
    return dict(sorted(reasons.items()))

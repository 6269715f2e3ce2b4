"""Is every input document there exactly once? Answered from the files alone, inputs and model not needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from longdoc.errors import JobError, on_one_line
from longdoc.jobs.identity import IdLedger, first_repetition
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.manifest import manifest_bytes, read_manifest, refuse_cut_sources, total_reasons
from longdoc.jobs.names import MANIFEST_NAME
from longdoc.jobs.parts import PartOutcome, check_and_read_part, read_part
from longdoc.jobs.resume import foreign_parts
from longdoc.jobs.row_kinds import rows_of

__all__ = ["VerifyReport", "verify_job"]


@dataclass(frozen=True)
class VerifyReport:
    """What a folder that passed holds."""

    documents: int
    failed: int
    parts: int
    reasons: dict[str, int] = field(default_factory=dict)


def verify_job(output: str | Path) -> VerifyReport:
    """Read every part again and compare it with plan and manifest: bytes, counts, and ids, each once and in order.

    Holds 8 bytes a document beside one part at a time.

    Raises:
        JobError: the first fault and the file it is in; or the job is not complete.
    """
    output = Path(output)
    plan = JobPlan.read_back(output)
    manifest = read_manifest(output)
    if manifest is None:
        refuse_cut_sources(output, plan)
        done = sum((output / plan.part_name(part)).exists() for part in plan.parts)
        raise JobError(
            f"{output} is not complete: {done} of {len(plan.parts)} parts are done. Run the job again to go on."
        )
    promised = {part["name"]: part["sha256"] for part in manifest["parts"]}
    outcomes: dict[int, PartOutcome] = {}
    ledger = IdLedger()
    for part in plan.parts:
        outcome, table = check_and_read_part(output, plan, part)
        name = plan.part_name(part)
        if outcome.sha256 != promised.get(name):
            raise JobError(f"{output / name} is not the file that {MANIFEST_NAME} names: its sha256 differs.")
        for identity in table.column("id").to_pylist():
            ledger.add(identity)
        outcomes[part.number] = outcome
    repeated = first_repetition(ledger.suspects(), lambda: _places(output, plan))
    if repeated is not None:
        raise JobError(f"{output} must hold each document once, but {repeated[0]} and {repeated[1]} are one document.")
    strangers = foreign_parts(output, plan)
    if strangers:
        raise JobError(f"{output} must hold no parts but those of its plan, but holds {on_one_line(strangers[0])}.")
    if (output / MANIFEST_NAME).read_bytes() != manifest_bytes(plan, outcomes):
        raise JobError(f"{output / MANIFEST_NAME} must agree with the parts, but its counts or names differ.")
    ordered = list(outcomes.values())
    return VerifyReport(plan.documents, sum(each.failed for each in ordered), len(ordered), total_reasons(ordered))


def _places(output: Path, plan: JobPlan) -> Iterator[tuple[str, str]]:
    schema = rows_of(plan.settings).schema
    for part in plan.parts:
        name = plan.part_name(part)
        for row, identity in enumerate(read_part(output / name, schema).column("id").to_pylist()):
            yield identity, f"row {row} of {name}"

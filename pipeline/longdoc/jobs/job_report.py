"""What a run of a job says when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.manifest import total_reasons
from longdoc.jobs.parts import PartOutcome
from longdoc.jobs.plan import JobConfig

__all__ = ["JobReport", "job_report"]


@dataclass(frozen=True)
class JobReport:
    """What a run did.

    Attributes:
        documents, failed: of the whole job.
        reused_parts, written_parts: kept from earlier runs, and made by this one.
        exit_status: 0, or 3 when more documents failed than `max_failures` allows, or the job cannot be complete.
        reasons: failed documents by reason.
        cut_sources: inputs that could not be read to their end. What could be read is answered, but the job has no
            manifest and is not complete, whatever `max_failures` allows: nobody knows how many documents are missing.
        found_complete: the job was complete before this run, which wrote nothing.
        abstained: documents of the whole job in which the model abstains, wholly or from some labels.
        chunks, repeated_chunks: that this run asked the model for, and those among them that were not encoded again.
        partly_textless: documents that this run answered and that have pages without text, which nobody has read.
    """

    documents: int
    failed: int
    reused_parts: int
    written_parts: int
    exit_status: int
    reasons: dict[str, int] = field(default_factory=dict)
    cut_sources: tuple[str, ...] = ()
    found_complete: bool = False
    abstained: int = 0
    chunks: int = 0
    repeated_chunks: int = 0
    partly_textless: int = 0


def job_report(
    job: JobConfig, plan: JobPlan, outcomes: Mapping[int, PartOutcome], written: int, found_complete: bool = False
) -> JobReport:
    """The report of a job whose parts are all done.

    Args:
        outcomes: of all parts, by number.
        written: how many of them this run made.
    """
    failed = sum(outcome.failed for outcome in outcomes.values())
    return JobReport(
        documents=sum(outcome.documents for outcome in outcomes.values()),
        failed=failed,
        reused_parts=len(outcomes) - written,
        written_parts=written,
        exit_status=3 if failed > job.max_failures or plan.cut_sources else 0,
        reasons=total_reasons(outcomes.values()),
        cut_sources=plan.cut_sources,
        found_complete=found_complete,
        abstained=sum(outcome.abstained for outcome in outcomes.values()),
        chunks=sum(outcome.chunks for outcome in outcomes.values()),
        repeated_chunks=sum(outcome.repeated_chunks for outcome in outcomes.values()),
        partly_textless=sum(outcome.partly_textless for outcome in outcomes.values()),
    )

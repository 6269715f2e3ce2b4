"""What the processes of a job see of each other: the leader's plan, in an output folder that all of them share."""

from __future__ import annotations

import time
from pathlib import Path

from longdoc.errors import JobError
from longdoc.jobs.job_plan import JobPlan

__all__ = ["shared_plan"]

_PLAN_SECONDS = 60.0


def shared_plan(output: Path, fingerprint: str) -> JobPlan:
    """The leader's plan, once it is there: a shared file system may show a new file to others only after a while.

    Raises:
        JobError: it is not there after a minute.
    """
    end = time.monotonic() + _PLAN_SECONDS
    while True:
        try:
            plan = JobPlan.read_back(output)
        except JobError:
            plan = None
        if plan is not None and plan.fingerprint == fingerprint:
            return plan
        if time.monotonic() > end:
            raise JobError(
                "every process must see the leader's plan in the output folder, but this one does not. Put the output "
                "on a file system that all machines share, under the same path."
            )
        time.sleep(0.5)

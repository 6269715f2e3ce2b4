"""A job of the engines that have processes, in a process of its own, for tests that kill it.

    python engine_child.py INPUT OUTPUT DELAY JOB

JOB: a `JobConfig` as JSON. Ends with the job's exit status.
"""

from __future__ import annotations

import logging
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from job_kit import load_echo
from longdoc.errors import LongDocError
from longdoc.jobs import JobConfig, run_job


def main() -> int:
    source, output, delay, job = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        config = JobConfig.model_validate_json(job)
        report = run_job([source], output, partial(load_echo, float(delay)), job=config)
    except LongDocError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_status
    print(report)
    return report.exit_status


if __name__ == "__main__":
    sys.exit(main())

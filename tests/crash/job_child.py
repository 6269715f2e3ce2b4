"""A job in a process of its own, for tests that kill it.

    python job_child.py INPUT OUTPUT [--workers N] [--size N] [--delay S] [--max-attempts N]
                        [--largest-file BYTES] [--engine NAME] [--fault N:KIND [--fault-in-worker FILE]]

`--fault` makes the N-th call fail by which files below OUTPUT are opened, written, made durable or renamed: KIND is
`kill` (SIGKILL to the whole process group before the call, or to the worker alone) or the name of an errno. Ends with
the job's exit status; logs everything.
"""

from __future__ import annotations

import argparse
import errno
import logging
import multiprocessing
import os
import resource
import signal
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fault_layer import calls_of

from job_kit import EchoPredictor
from longdoc.errors import LongDocError
from longdoc.jobs import JobConfig, run_job


def install_fault(fault: str, output: Path) -> None:
    """From now on the n-th of the calls by which files below `output` are made fails."""
    number, kind = fault.split(":")

    def strike() -> None:
        if kind == "kill":
            in_worker = multiprocessing.parent_process() is not None
            os.kill(os.getpid(), signal.SIGKILL) if in_worker else os.killpg(0, signal.SIGKILL)
        raise OSError(errno.__dict__[kind], os.strerror(errno.__dict__[kind]))

    replacements, _ = calls_of(output, int(number), strike)
    for (module, name), call in replacements.items():
        setattr(module, name, call)


def load(delay: float, fault: str | None, once: Path | None, output: Path) -> EchoPredictor:
    # In a worker the fault strikes once in a job, or every worker after it would meet it again.
    if fault and once and multiprocessing.parent_process() is not None and not once.exists():
        once.touch()
        install_fault(fault, output)
    return EchoPredictor(delay)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("output", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--max-attempts", type=int, default=3)
    parser.add_argument("--largest-file", type=int)
    parser.add_argument("--fault")
    parser.add_argument("--fault-in-worker", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    if options.largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.largest_file, options.largest_file))
    if options.fault and not options.fault_in_worker:
        install_fault(options.fault, options.output)
    opener = partial(load, options.delay, options.fault, options.fault_in_worker, options.output)
    job = JobConfig(
        engine=options.engine,
        workers=options.workers,
        documents_per_part=options.size,
        max_failures=1_000_000,
        max_attempts=options.max_attempts,
    )
    try:
        report = run_job([options.input], options.output, opener, job=job, progress=tell)
    except LongDocError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return error.exit_status
    print(report)
    return report.exit_status


def tell(done: int, total: int, failed: int) -> None:
    print(f"{done} of {total}, {failed} failed", flush=True)


if __name__ == "__main__":
    sys.exit(main())

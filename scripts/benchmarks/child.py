"""The process of one candidate: makes it, runs it when asked, and says how long that took."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main() -> None:
    """Obey the lines that come in: `make`, then `run` as often as it comes."""
    candidate = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w")  # libraries print what they like, elsewhere
    os.dup2(2, 1)
    work: Callable[[], dict[str, Any]] | None = None
    for line in sys.stdin:
        answer: dict[str, Any] = {}
        try:
            if line.strip() == "make":
                work = _make(candidate)
                answer["base_mb"] = _fresh_peak()
            elif work is not None:
                start, of_cpu = time.perf_counter(), _cpu_seconds()
                answer["told"] = work()
                answer["seconds"] = time.perf_counter() - start
                answer |= {"cpu_seconds": _cpu_seconds() - of_cpu, "peak_mb": _megabytes("VmHWM")}
        except _AbsentError as absent:
            answer["fault"] = str(absent)
        except Exception as error:
            answer["fault"] = f"{type(error).__name__}: {error}"[:300]
        with contextlib.suppress(BrokenPipeError):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


class _AbsentError(Exception):
    pass


def _make(candidate: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    missing = [name for name in candidate["needs"] if importlib.util.find_spec(name) is None]
    if missing:
        raise _AbsentError(f"not installed: {', '.join(missing)}")
    module, _, function = candidate["make"].partition(":")
    made: Callable[[], dict[str, Any]] = getattr(importlib.import_module(f"benchmarks.{module}"), function)(
        **candidate["options"]
    )
    return made


def _fresh_peak() -> float:
    """Megabytes held now; the peak counts from here, where the system lets us say so (Linux)."""
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _megabytes("VmRSS")


def _cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _megabytes(field: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    main()

"""Candidates side by side: each in a process of its own, asked in turn, so that all see the machine in one mood."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Candidate", "Measured", "Suite", "alternate"]


@dataclass(frozen=True)
class Candidate:
    """One way to do the work.

    Attributes:
        name: in the table.
        make: `module:function` in `benchmarks`; called in the child with `options`, gives what is to be timed.
        needs: packages that must be importable.
        options: JSON.
        left_out: why it is not tried on this machine; empty = it is.
    """

    name: str
    make: str
    needs: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    left_out: str = ""


@dataclass(frozen=True)
class Suite:
    """What is measured together.

    Attributes:
        candidates: from whether it must be quick, and the number of documents where the caller names one.
        rounds, quick_rounds: how often each is timed.
        warm: whether a round that is not counted goes before them.
    """

    candidates: Callable[[bool, int | None], list[Candidate]]
    rounds: int = 5
    quick_rounds: int = 3
    warm: bool = True


@dataclass
class Measured:
    """What a candidate did.

    Attributes:
        seconds: of each round.
        cpu_seconds: that the cores spent on each round, which other processes on the machine disturb least.
        told: what the work returned in the last round: JSON, with `tokens`.
        fault: why it was not measured; empty = it was.
        base_mb, peak_mb: of its process before the work and at most, in megabytes (1e6 bytes).
    """

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    base_mb: float = 0.0
    peak_mb: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def alternate(candidates: Sequence[Candidate], rounds: int, threads: int, warm: bool = True) -> dict[str, Measured]:
    """Times of all candidates, in rounds; where `warm`, one round before them fills caches and is not counted."""
    found = {candidate.name: Measured(fault=candidate.left_out) for candidate in candidates}
    children: dict[str, _Child] = {}
    try:
        for candidate in candidates:
            measured = found[candidate.name]
            if not measured.fault:
                children[candidate.name] = child = _Child(candidate, threads)
                answer = child.ask("make")
                measured.fault, measured.base_mb = answer.get("fault", ""), answer.get("base_mb", 0.0)
            print(f"{candidate.name}: {measured.fault or 'ready'}", file=sys.stderr, flush=True)
        for number in range(1 - warm, rounds + 1):
            for name, measured in found.items():
                if measured.fault:
                    continue
                answer = children[name].ask("run")
                measured.fault = answer.get("fault", "")
                if number and not measured.fault:
                    measured.seconds.append(answer["seconds"])
                    measured.cpu_seconds.append(answer["cpu_seconds"])
                    measured.told, measured.peak_mb = answer["told"], answer["peak_mb"]
    finally:
        for child in children.values():
            child.close()
    return found


class _Child:
    def __init__(self, candidate: Candidate, threads: int) -> None:
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true", HF_HUB_OFFLINE="1")
        environment["RAYON_NUM_THREADS"] = str(threads)
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", json.dumps(asdict(candidate))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, word: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            return {"fault": f"its process ended with status {self._process.wait()}"}
        return answer

    def close(self) -> None:
        self._process.communicate()

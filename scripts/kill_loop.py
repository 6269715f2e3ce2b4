"""Kill a job hundreds of times: what it ends with is what an undisturbed run gives, byte for byte.

python scripts/kill_loop.py --kills 300 --minutes 60     # of the whole job, and of one worker at a time
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "crash")]


def main() -> None:
    """Loops with one worker and with two, until there were enough kills or time is up."""
    from crash_kit import kill_at_random

    from job_kit import final_files, load_echo, write_corpus
    from longdoc.jobs import JobConfig, run_job

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--documents", type=int, default=48)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    loops = ((1, 0.0), (2, 0.5))
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.jsonl", Path(folder) / "out"
        write_corpus(source, options.documents)
        run_job([source], Path(folder) / "whole", load_echo, job=JobConfig(documents_per_part=4))
        expected = final_files(Path(folder) / "whole")
        for number, (workers, share) in enumerate(loops, 1):
            job = ("--workers", workers, "--size", 4, "--delay", 0.01, "--max-attempts", 1_000_000)
            deadline = time.monotonic() + options.minutes * 60 / len(loops)
            kills = options.kills * number // len(loops) - options.kills * (number - 1) // len(loops)
            seed = options.seed + number
            happened = kill_at_random(source, output, expected, job, kills, seed, share, deadline)
            total += happened["group"] + happened["worker"]
            print(f"workers {workers}, seed {seed}: {dict(happened)}", flush=True)
    print(f"{total} kills, no difference")
    raise SystemExit(0 if total >= options.kills else 1)


if __name__ == "__main__":
    main()

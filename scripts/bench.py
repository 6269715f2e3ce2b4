"""Ours and what people would take instead, asked in turn on the same long documents: medians, spreads, accuracy.

python scripts/bench.py --suite encode --quick
python scripts/bench.py --suite encode tokenize train --json bench.json
python scripts/bench.py --table bench.json

Peers that are not installed say so: `pip install -c constraints.txt -e ".[bench]"` brings them. The documents come from
an installed package of licence texts, which the same extra brings. No network is used.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.alternate import Candidate, alternate
from benchmarks.report import report, table
from benchmarks.suites import SUITES


def main() -> None:
    """Measure the suites, print a table of each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--suite", choices=sorted(SUITES), nargs="+", help="what to measure")
    asked.add_argument("--table", type=Path, metavar="JSON", help="print the tables of an earlier run")
    parser.add_argument("--json", type=Path, help="where to write all numbers; written anew after each suite")
    parser.add_argument("--rounds", type=int, help="how often each is timed")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores that each may use")
    parser.add_argument("--documents", type=int, help="how many, where a suite reads many")
    parser.add_argument("--only", nargs="+", default=(), help="candidates whose name has one of these in it")
    parser.add_argument("--quick", action="store_true", help="fewer documents and rounds")
    options = parser.parse_args()
    if options.table:
        results = json.loads(options.table.read_text(encoding="utf-8"))
        print("\n\n".join(table(result) for result in results["suites"]))
        return
    found: dict[str, Any] = {"command": shlex.join(["python", *sys.argv]), "suites": []}
    for name in options.suite:
        found["suites"].append(measured(name, options))
        print(table(found["suites"][-1]) + "\n", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One suite as JSON; vectors are compared and then thrown away."""
    suite = SUITES[name]
    rounds = options.rounds or (suite.quick_rounds if options.quick else suite.rounds)
    with tempfile.TemporaryDirectory() as folder:
        candidates: list[Candidate] = []
        for number, candidate in enumerate(suite.candidates(options.quick, options.documents)):
            if "vectors" in candidate.options:
                candidate.options["vectors"] = f"{folder}/{number}.npy"
            if not options.only or any(part in candidate.name for part in options.only):
                candidates.append(candidate)
        found = alternate(candidates, rounds, options.threads, suite.warm)
        return report(name, candidates, found, options.threads, rounds)


if __name__ == "__main__":
    main()

"""Throw mutated bytes at the readers, guided by what code they reach (atheris, extra `fuzz`).

python tests/fuzz/fuzz.py web_page --seconds 60          # stops at the first fault and keeps its input in .fuzz/
python tests/fuzz/fuzz.py web_page --keep                # what reaches new code goes into the kept corpus
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


def main() -> None:
    """One target for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    with atheris.instrument_imports(include=["longdoc"], enable_loader_override=False):
        from fuzz_targets import TARGETS

        target = TARGETS[options.target]
        target(b"")  # imports what it needs under the eyes of atheris

    kept = HERE / "corpus" / options.target
    found = HERE.parent.parent / ".fuzz" / options.target
    found.mkdir(parents=True, exist_ok=True)
    folders = [kept, found] if options.keep else [found, kept]  # what is new goes into the first
    limits = ["-max_len=4096", "-timeout=30", "-rss_limit_mb=4096", f"-artifact_prefix={found}-", "-verbosity=0"]
    time = "-merge=1" if options.keep else f"-max_total_time={options.seconds}"
    atheris.Setup([sys.argv[0], *map(str, folders), *limits, time, "-print_final_stats=1"], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

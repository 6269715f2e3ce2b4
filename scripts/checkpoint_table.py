"""Measure how far each checkpoint family's numbers are from transformers', and write the table of docs/checkpoints.md.

    python scripts/checkpoint_table.py            # prints it
    python scripts/checkpoint_table.py --write    # and replaces the one in the page

Needs the development extra: the models to compare with are those of the test suite.
"""

from __future__ import annotations

import argparse
import logging
import platform
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "checkpoints.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def table() -> str:
    """The table as Markdown, a row for each family."""
    sys.path.insert(0, str(ROOT / "tests"))
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    from family_measures import measured
    from longdoc.checkpoints.opening import FAMILIES

    lines = [
        "| `model_type` | states, float32 | states, float64 | classifier | tagger |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(name, Path(folder))
        numbers = (found.states, found.exact_states, found.classifier, found.tagger)
        lines.append(f"| `{name}` | " + " | ".join("-" if n is None else f"{n:.1e}" for n in numbers) + " |")
    with_what = ", ".join(f"{package} {version(package)}" for package in ("transformers", "torch"))
    return "\n".join(lines) + f"\n\nMeasured with {with_what}, {platform.machine()}, CPU.\n"


def main() -> None:
    """Print the table; with `--write`, put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    made = table()
    print(made)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + made + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()

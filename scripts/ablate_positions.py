"""Compare position encodings: the same small encoder from scratch, several seeds, real and synthetic tasks.

    python scripts/ablate_positions.py --output runs/positions --data data/built/licences

The same as `longdoc compare --positions`, with the number of threads to choose: one keeps the rest of a machine free,
and the numbers do not depend on what else runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from longdoc.study.ablation import KINDS
from longdoc.study.ablation_picture import draw_ablation
from longdoc.study.ablation_run import QUICK, run_ablation
from longdoc.study.ablation_table import ablation_table
from longdoc.study.order_tasks import chance


def main() -> None:
    """Run what is missing, print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a built corpus with train.jsonl and test.jsonl; adds the real task")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one seed, few steps: does it run?")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = run_ablation(
        options.output,
        options.kinds,
        options.seeds[:1] if options.quick else options.seeds,
        QUICK if options.quick else None,
        options.data,
        lambda done, total: print(f"{done} of {total} results", flush=True),
    )
    print(ablation_table(results))
    for suffix in (".png", ".svg"):
        draw_ablation(results, options.output / f"figure{suffix}", chance(options.data))


if __name__ == "__main__":
    main()

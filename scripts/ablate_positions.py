"""Compare position encodings: the same small encoder from scratch, several seeds, real and synthetic tasks.

    python scripts/ablate_positions.py --output runs/positions --data data/built/licences
    python scripts/ablate_positions.py --output runs/positions --quick

Each result is kept in OUTPUT/results.jsonl; run again, it goes on where it stopped. Then a table is printed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from longdoc.study.ablation import KINDS, AblationConfig, ablate, ablation_table

LENGTHS = (256, 512, 1024, 2048)


def main() -> None:
    """Run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a built corpus with train.jsonl and test.jsonl; adds the real task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one seed, few steps: does it run?")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = AblationConfig(steps=20, test_rows=40) if options.quick else AblationConfig()
    seeds = range(1 if options.quick else options.seeds)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "results.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    with path.open("a", encoding="utf-8") as file:
        for result in ablate(options.kinds, seeds, LENGTHS, settings, options.data, done):
            file.write(json.dumps(result) + "\n")
            file.flush()
            done.append(result)
            print(
                f"{result['task']:10} {result['kind']:11} seed {result['seed']}: {result['accuracy']:.3f}", flush=True
            )
    print(ablation_table(done))


if __name__ == "__main__":
    main()

"""Gradients in the processes of one launch: a line of JSON for each case, from the first process.

`same_draws` is how far the row cache is from the full graph of every process's own documents, summed over processes;
`alone`, where nothing is dropped, how far from the full graph of all documents in one process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from gradient_kit import CASES, OneStep, case_name, distance
from longdoc.api import build_pipeline
from longdoc.config import load_config
from training_kit import CONFIG, LABELS


def main() -> None:
    torch.set_num_threads(1)
    tiny = build_pipeline(
        load_config(CONFIG, ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32"]), LABELS
    )
    for number, case in enumerate(CASES):
        dtype, dropout = (torch.float64, torch.float32)[number % 5 == 4], (0.2, 0.0)[number % 2]
        one = OneStep(tiny, case, dtype, dropout)
        size = 4 if one.pipeline.task.learns_in_twos else 2  # two alike documents learn nothing from each other alone
        step = one.step(size, one.accelerator.num_processes, one.accelerator.process_index)
        own = one.by_full_graph(step.batches, len(step.members))
        expected = {name: one.accelerator.reduce(gradient, reduction="sum") for name, gradient in own.items()}
        found = one.by_row_cache(step)
        said = {
            "case": case_name(case),
            "dtype": str(dtype),
            "dropout": dropout,
            "documents": len(step.members),
            "mine": [len(batch) for batch in step.batches],
            "same_draws": distance(found, expected),
        }
        if not dropout:
            together = _every_batch(one, size) if one.pipeline.task.learns_in_twos else [step.members]
            said["alone"] = distance(found, one.by_full_graph(together, len(step.members)))
        if one.accelerator.is_main_process:
            print(json.dumps(said), flush=True)


def _every_batch(one: OneStep, size: int) -> list[tuple[int, ...]]:
    """Those of all processes: where documents learn from each other, they do so within a batch of one process."""
    processes = one.accelerator.num_processes
    return [batch for rank in range(processes) for batch in one.step(size, processes, rank).batches]


if __name__ == "__main__":
    main()

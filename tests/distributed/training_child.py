"""A training run for `accelerate launch`: FOLDER STOP. SIGTERM comes to the first process after step STOP, if not 0."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from longdoc.api import build_pipeline
from longdoc.config import load_config
from longdoc.errors import LongDocError
from longdoc.nn.dropout import Dropout
from longdoc.nn.self_attention import SelfAttention
from longdoc.types import Document
from training_kit import CONFIG, LABELS, run

CHUNKS = (1, 60, 2, 7, 1, 30, 3, 1, 12)
"""Of the training documents: nine, so that the last step has one, and a process that is one of two has none."""


def documents(chunks: tuple[int, ...], prefix: str) -> list[Document]:
    """Documents of so many chunks: 30 tokens each, of which neighbours share 8."""
    words = ("the licence grants ", "dear patient you ", "you are told that ")
    return [
        Document(id=f"{prefix}{n}", text=(words[n % 3] * 500)[: _characters(words[n % 3], count)], label=LABELS[n % 3])
        for n, count in enumerate(chunks)
    ]


def _characters(words: str, chunks: int) -> int:
    tokens = 30 + 22 * (chunks - 1)
    return len(" ".join((words * 500).split()[:tokens]))


def main(output: Path, stop: int) -> None:
    torch.set_num_threads(1)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    print(f"{processes} at work", flush=True)
    settings = ["prediction.precision.device=cpu", "prediction.precision.dtype=fp32"]
    pipeline = build_pipeline(load_config(CONFIG, settings), LABELS)
    keeps_dropout = stop or output.name.startswith("dropout")
    for module in pipeline.model.modules():
        if isinstance(module, Dropout) and not keeps_dropout:
            module.p = 0.0
        elif isinstance(module, SelfAttention) and not keeps_dropout:
            module.dropout = 0.0
    try:
        run(
            pipeline,
            output,
            f"per_device_train_batch_size={4 // processes}",
            "metric_for_best_model=loss",
            train=documents(CHUNKS, "d"),
            validation=documents((1, 3, 40, 2, 1), "v"),
            stop_after=stop if os.environ.get("RANK", "0") == "0" else None,
        )
    except LongDocError as error:
        if os.environ.get("RANK", "0") == "0":
            print(error)
        sys.exit(0 if stop else 2)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

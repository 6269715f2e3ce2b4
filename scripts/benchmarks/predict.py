"""Suite `predict`: `longdoc predict` as a whole process, beside the same documents in a process that stands ready."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER, SIZE
from benchmarks.corpus import documents

__all__ = ["candidates", "job", "ready"]

Work = Callable[[], dict[str, Any]]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """The rate of a job that is long enough, and what starting costs: the same command for one short text."""
    given: dict[str, Any] = {"count": count or (24 if quick else 500)}
    return [
        Candidate("in a process that stands ready", "predict:ready", options=given),
        Candidate("longdoc predict, 1 worker", "predict:job", options=given | {"workers": 1}),
        Candidate("longdoc predict, one text of 10 words", "predict:job", options={"count": 0, "workers": 1}),
    ]


def ready(count: int) -> Work:
    """`Pipeline.stream`, answers thrown away."""
    from longdoc.pipeline import Pipeline

    pipeline = Pipeline.from_checkpoint(ENCODER, labels=("a", "b"), chunking={"size": SIZE, "overlap": 0})
    texts = documents(count)
    pipeline.predict(texts[:1])

    def work() -> dict[str, Any]:
        return {"tokens": sum(result.n_tokens for result in pipeline.stream(texts))}

    return work


def job(count: int, workers: int) -> Work:
    """Start, reading, model, merging, writing, manifest. The peak is that of its biggest process."""
    from longdoc.pipeline import Pipeline
    from longdoc.types import Document

    folder = tempfile.TemporaryDirectory()
    root = Path(folder.name)
    pipeline = Pipeline.from_checkpoint(ENCODER, labels=("a", "b"), chunking={"size": SIZE, "overlap": 0})
    pipeline.save(root / "model")
    texts = documents(count) or ["one text of ten words, to see what starting costs"]
    lines = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts))
    (root / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tokens = sum(item.n_tokens for item in pipeline.prepare([Document(id="0", text=text) for text in texts]))
    rounds = 0

    def work() -> dict[str, Any]:
        nonlocal rounds
        rounds += 1
        subprocess.run(
            [
                sys.executable, "-m", "longdoc", "predict", "--model", root / "model", "--input", root / "in.jsonl",
                "--output", Path(folder.name) / f"out-{rounds}", "--workers", str(workers),
            ],
            check=True, capture_output=True,
        )  # fmt: skip
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        return {"tokens": tokens, "peak_mb": peak, "above_mb": peak}

    return work

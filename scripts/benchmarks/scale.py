"""Suite `scale`: one document from 1,000 to 1,000,000 tokens, and a job with one worker and with several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER
from benchmarks.corpus import long_text

__all__ = ["candidates", "one_document"]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """Each length in a process of its own, so that its peak is its own; as many workers as cores, at most 8."""
    lengths = (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    cores = torch.get_num_threads()
    workers = [number for number in (1, 2, 4, 8) if number <= max(2, cores)]
    given: dict[str, Any] = {"count": count or (24 if quick else 500)}
    return [
        *(Candidate(f"one document, {n:,} tokens", "scale:one_document", options={"tokens": n}) for n in lengths),
        Candidate("many documents, a process that stands ready", "predict:ready", options=given),
        *(
            Candidate(f"many documents, longdoc predict --workers {n}", "predict:job", options=given | {"workers": n})
            for n in workers
        ),
    ]


def one_document(tokens: int) -> Callable[[], dict[str, Any]]:
    """A prediction of one text; a short one went before it."""
    from longdoc.pipeline import Pipeline

    pipeline, text = Pipeline.from_checkpoint(ENCODER, labels=("a", "b")), long_text(tokens)
    pipeline.predict(["a short text"])

    def work() -> dict[str, Any]:
        (result,) = pipeline.predict([text])
        return {"tokens": result.n_tokens}

    return work

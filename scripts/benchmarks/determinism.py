"""Suite `determinism`: what bit-equal scores cost: batches of fixed shapes beside batches packed freely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.alternate import Candidate
from benchmarks.chunks import ENCODER
from benchmarks.corpus import documents

__all__ = ["candidates", "ours"]


def candidates(quick: bool, count: int | None = None) -> list[Candidate]:
    """The two modes, float32, no chunk left out."""
    given = {"count": count or (8 if quick else 40)}
    return [
        Candidate("fixed shapes", "determinism:ours", options=given | {"deterministic": True}),
        Candidate("free batches", "determinism:ours", options=given | {"deterministic": False}),
    ]


def ours(count: int, deterministic: bool) -> Callable[[], dict[str, Any]]:
    """MiniLM with a random head."""
    from longdoc.pipeline import Pipeline, PredictionConfig
    from longdoc.precision import PrecisionConfig
    from longdoc.text.batching import BatchingConfig

    batching = BatchingConfig(deterministic=deterministic, reuse_repeats=False)
    settings = PredictionConfig(batching=batching, precision=PrecisionConfig(dtype="fp32"))
    pipeline, texts = Pipeline.from_checkpoint(ENCODER, labels=("a", "b"), prediction=settings), documents(count)

    def work() -> dict[str, Any]:
        return {"tokens": sum(result.n_tokens for result in pipeline.stream(texts))}

    return work

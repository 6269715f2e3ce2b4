"""The suites by name."""

from __future__ import annotations

from benchmarks import determinism, encode, predict, scale, tokenize, train
from benchmarks.alternate import Suite

__all__ = ["SUITES"]

SUITES: dict[str, Suite] = {
    "encode": Suite(encode.candidates),
    "tokenize": Suite(tokenize.candidates),
    "determinism": Suite(determinism.candidates),
    "train": Suite(train.candidates, rounds=3, quick_rounds=2),
    "predict": Suite(predict.candidates, rounds=3, quick_rounds=1, warm=False),
    "scale": Suite(scale.candidates, rounds=1, quick_rounds=1, warm=False),
}

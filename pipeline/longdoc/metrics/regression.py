"""How good predicted numbers are: arrays in, plain Python values out, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.errors import UsageError
from longdoc.metrics.intervals import (
    bootstrap_intervals,
    bootstrap_regression,
    describe_intervals,
    more_than_rounding,
    without_rounding,
)

__all__ = ["regression_metrics"]


def regression_metrics(
    gold: ArrayLike, predicted: ArrayLike, *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> dict[str, Any]:
    """Metrics of a regression with intervals.

    Args:
        gold: float (B,), finite.
        predicted: float (B,); a value that is not finite = no answer, left out and counted in `unanswered`.

    Returns:
        `documents`, `unanswered`, `mae`, `rmse`, `r2`, `pearson`, `intervals`, `choices`. `r2` and `pearson`
        are None where the gold values do not vary, `pearson` also where the answers do not.
    """
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error  # only for those who measure

    right, answer = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if right.ndim != 1 or right.shape != answer.shape or not len(right):
        raise UsageError(
            f"`gold` and `predicted` must both be (B,) with B >= 1, but are {right.shape} and {answer.shape} instead."
        )
    if not np.isfinite(right).all():
        raise UsageError("`gold` must hold finite numbers only, but does not. Remove the documents without a target.")
    answered = np.isfinite(answer)
    right, answer = right[answered], answer[answered]
    some = len(right) > 0
    varies = some and more_than_rounding(right)

    def resampled(counts: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        return bootstrap_regression(right, answer, counts[:, answered])

    behind = dict.fromkeys(("mae", "rmse", "r2", "pearson"), len(right))
    return {
        "documents": len(answered),
        "unanswered": int((~answered).sum()),
        "mae": float(mean_absolute_error(right, answer)) if some else None,
        "rmse": float(root_mean_squared_error(right, answer)) if some else None,
        "r2": float(without_rounding(r2_score(right, answer))) if varies else None,
        "pearson": (
            float(without_rounding(np.corrcoef(right, answer)[0, 1])) if varies and more_than_rounding(answer) else None
        ),
        "intervals": bootstrap_intervals(resampled, len(answered), resamples, seed, confidence, behind),
        "choices": {
            "unanswered": "left out of every measure",
            "intervals": describe_intervals(resamples, seed, confidence),
        },
    }

"""How far predicted ranks are from the right ones: arrays in, plain Python values out, ready for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.errors import UsageError
from longdoc.metrics.intervals import Floats, bootstrap_intervals, bootstrap_means, without_rounding

__all__ = ["bootstrap_kappa", "ordinal_metrics"]


def ordinal_metrics(
    gold: ArrayLike, predicted: ArrayLike, *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> dict[str, Any]:
    """Metrics of ranks with intervals.

    Args:
        gold: int (B,), the number of the right label, from low to high.
        predicted: int (B,), likewise; -1 = no answer, left out.

    Returns:
        `mae`, the mean distance in ranks; `quadratic_weighted_kappa` (Cohen 1968), 1 minus the mean squared distance
        over what it would be if answers had nothing to do with documents; both None where undefined; `intervals`,
        `choices`.
    """
    right, answer = np.asarray(gold), np.asarray(predicted)
    if right.ndim != 1 or right.shape != answer.shape or not len(right):
        raise UsageError(
            f"`gold` and `predicted` must both be (B,) with B >= 1, but are {right.shape} and {answer.shape} instead."
        )
    answered = answer >= 0
    right, answer = right[answered].astype(np.float64), answer[answered].astype(np.float64)
    distance = np.abs(right - answer)

    def statistics(counts: Floats) -> dict[str, Floats]:
        drawn = counts[:, answered]
        return {
            "quadratic_weighted_kappa": bootstrap_kappa(right, answer, drawn),
            **bootstrap_means({"mae": distance}, drawn),
        }

    once = statistics(np.ones((1, len(answered))))
    return {
        **{name: float(value[0]) if np.isfinite(value[0]) else None for name, value in once.items()},
        "intervals": bootstrap_intervals(
            statistics, len(answered), resamples, seed, confidence, dict.fromkeys(once, len(right))
        ),
        "choices": {"ranks": "labels count as 0, 1, 2 ... in their order; documents without an answer are left out"},
    }


def bootstrap_kappa(gold: NDArray[Any], predicted: NDArray[Any], counts: Floats) -> Floats:
    """The quadratic weighted kappa of ranks (B,) in each resample: counts (R, B) -> (R,), NaN where undefined.

    The weights are squared distances, so the table of expected counts is not needed: the mean squared distance of
    independent ranks with these frequencies is E[g^2] + E[p^2] - 2 E[g] E[p].
    """
    g, p = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    means = bootstrap_means({"g": g, "p": p, "gg": g * g, "pp": p * p, "seen": (g - p) ** 2}, counts)
    chance = means["gg"] + means["pp"] - 2 * means["g"] * means["p"]
    defined = chance > 1e-12
    return without_rounding(1 - np.divide(means["seen"], chance, out=np.full(len(chance), np.nan), where=defined))

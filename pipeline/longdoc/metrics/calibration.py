"""Whether scores can be read as probabilities: confidence against accuracy, bin by bin.

Source: Guo et al. 2017, "On calibration of modern neural networks", equation 5, with their 15 bins of equal width:
bin k holds `(k/bins, (k+1)/bins]`, the first one also 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BINS", "Calibration", "expected_calibration_error"]

BINS = 15


class Calibration:
    """The pairs of confidence and correctness of each document, summed into bins.

    A document with one label has one pair, the score of its answer and whether that answer is right; one of any number
    of labels has C: the score of each label and whether the document has it.

    Args:
        right: bool (B, C), the gold labels.
        probability: float (B, C), finite.
        answer: bool (B, C), one label a document: the answer, which need not be the most probable label. None where a
            document has any number of labels.

    Attributes:
        gaps: float64 (B, bins), for each document the sum of confidence minus correctness.
        pairs: pairs of one document.
    """

    def __init__(
        self, right: NDArray[np.bool_], probability: NDArray[np.float64], answer: NDArray[np.bool_] | None
    ) -> None:
        if answer is None:
            self._confidence, self._correct = probability, right
        else:
            self._confidence, self._correct = probability[answer][:, None], right[answer][:, None]
        self.pairs = self._confidence.shape[1]
        self.gaps = np.zeros((len(right), BINS))
        documents = np.repeat(np.arange(len(right)), self.pairs)
        difference = (self._confidence - self._correct).ravel()
        np.add.at(self.gaps, (documents, _bin_of(self._confidence.ravel(), BINS)), difference)

    def error(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The expected calibration error in each resample: counts (R, B) -> (R,), NaN where nothing is drawn."""
        drawn = self.pairs * counts.sum(axis=1)
        total = np.abs(counts @ self.gaps).sum(axis=1)
        return np.asarray(np.divide(total, drawn, out=np.full(len(counts), np.nan), where=drawn > 0))

    def table(self) -> list[dict[str, Any]]:
        """The bins that are not empty: `low`, `high`, `pairs`, mean `confidence`, `accuracy`."""
        confidence, correct = self._confidence.ravel(), self._correct.ravel()
        member = _bin_of(confidence, BINS)
        return [
            {
                "low": number / BINS,
                "high": (number + 1) / BINS,
                "pairs": int((member == number).sum()),
                "confidence": float(confidence[member == number].mean()),
                "accuracy": float(correct[member == number].mean()),
            }
            for number in np.unique(member).tolist()
        ]


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """Mean distance between confidence and accuracy over the bins, weighted by their sizes.

    Args:
        confidence: float (n,) in [0, 1], n >= 1.
        correct: bool (n,).
    """
    value, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    gaps = np.bincount(_bin_of(value, bins), weights=value - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(value))


def _bin_of(confidence: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    return np.clip(np.ceil(confidence * bins).astype(np.intp) - 1, 0, bins - 1)

"""A linear classifier over words and word pairs, which a model may carry beside its encoder.

Features are those of scikit-learn's `TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)`: words of two and more
letters, digits or underscores in lower case, and pairs of neighbours; 1 + log(count), times the rarity, scaled to
length 1. The file holds no word of a training document: a feature is known by a 64-bit digest.

Shape letters: V features, C labels.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.numpy import load, save

from longdoc.errors import CheckpointError
from longdoc.schema import Config

__all__ = ["LINEAR_FILE", "LinearClassifier", "LinearSettings", "digests_of", "ngrams", "read_linear"]

LINEAR_FILE = "linear.safetensors"

_WORD = re.compile(r"\b\w\w+\b")


class LinearSettings(Config):
    """How a model's scores and those of its linear classifier are added up; fitted on validation documents only."""

    model_weight: float = Field(ge=0)
    """What the scores of encoder and readout are multiplied by."""
    words_weight: float = Field(ge=0)
    """What the scores of the linear classifier are multiplied by."""
    shifts: tuple[float, ...] = ()
    """What is added to each of the K scores; empty = nothing."""
    documents: int = Field(ge=1)
    """How many validation documents the weights were fitted on."""
    train_documents: int = Field(ge=1)
    """How many documents the classifier has learned from: no probability of its is taken to be nearer to 0 or 1 than
    half a document in so many."""
    sha256: str
    """Of the file that holds the classifier."""

    def mix(self, model_scores: NDArray[np.float32], word_scores: NDArray[np.float64]) -> NDArray[np.float32]:
        """Scores (1, K) of the model and (K,) of the classifier -> (1, K), added up in float64."""
        mixed = self.model_weight * model_scores.astype(np.float64) + self.words_weight * word_scores
        if self.shifts:
            mixed += np.array(self.shifts)
        return mixed.astype(np.float32)

    @property
    def least_probability(self) -> float:
        """The least probability that so many documents can show."""
        return 0.5 / (self.train_documents + 1)


@dataclass(frozen=True, repr=False)
class LinearClassifier:
    """Weights of words and word pairs for each label.

    Attributes:
        digests: int64 (V,), of the features, ascending.
        rarity: float32 (V,), the inverse document frequencies.
        weights: float32 (C, V); 0 for labels that were not learned.
        bias: float32 (C,).
        learned: bool (C,): False for a label that none or all of the training documents have.
        always: bool (C,): what the answer is then.
        several: bool (1,): whether labels are independent of each other, not exactly one right.
    """

    digests: NDArray[np.int64]
    rarity: NDArray[np.float32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    learned: NDArray[np.bool_]
    always: NDArray[np.bool_]
    several: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"LinearClassifier(features={len(self.digests)}, labels={len(self.bias)})"

    def features(self, text: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers and values of the features that a text has, ascending."""
        counts: Counter[int] = Counter()
        for term, count in Counter(ngrams(text)).items():
            counts[_digest(term)] += count
        known = np.array(sorted(counts), dtype=np.int64)
        places = np.searchsorted(self.digests, known)
        found = places < len(self.digests)
        found[found] = self.digests[places[found]] == known[found]
        numbers = places[found]
        repeated = np.array([counts[int(digest)] for digest in known[found]], dtype=np.float64)
        values = (1.0 + np.log(repeated)) * self.rarity[numbers]
        length = np.sqrt(np.square(values).sum())
        return numbers, values / length if length else values

    def probabilities(self, text: str) -> NDArray[np.float64]:
        """(C,): of each label by itself if `several`, else together 1. Of labels that were not learned 0 or 1."""
        numbers, values = self.features(text)
        # A plain sum, not a matrix product: the same bits on however many threads.
        scores = self.bias + (self.weights[:, numbers].astype(np.float64) * values).sum(axis=1)
        found = self.always.astype(np.float64)
        if not self.learned.any():
            return found
        if self.several:
            found[self.learned] = 1.0 / (1.0 + np.exp(-np.clip(scores[self.learned], -700, 700)))
        else:
            shifted = np.exp(scores[self.learned] - scores[self.learned].max())
            found[self.learned] = shifted / shifted.sum()
        return found

    def to_bytes(self) -> bytes:
        """The content of its file."""
        return save({field.name: np.ascontiguousarray(getattr(self, field.name)) for field in fields(self)})


def read_linear(folder: Path, settings: LinearSettings, labels: int) -> LinearClassifier:
    """The classifier of a model folder.

    Raises:
        CheckpointError: there is none, or not the one that the folder describes.
    """
    path = folder / LINEAR_FILE
    try:
        content = path.read_bytes()
    except OSError:
        raise CheckpointError(
            f"`{path}` must hold the linear classifier that `longdoc.json` names, but cannot be read."
        ) from None
    if hashlib.sha256(content).hexdigest() != settings.sha256:
        raise CheckpointError(
            f"`{path}` must be the file that `longdoc.json` names, but its sha256 is another. Restore the folder from "
            "where it was saved."
        )
    try:
        found = LinearClassifier(**load(content))
    except (SafetensorError, TypeError):
        raise CheckpointError(f"`{path}` must hold a linear classifier, but holds something else.") from None
    if not _fits(found, labels):
        raise CheckpointError(f"`{path}` must have weights for {labels} labels, but its tensors do not fit together.")
    return found


def _fits(linear: LinearClassifier, labels: int) -> bool:
    features = (linear.digests.size,)
    expected = {
        "digests": (features, "int64"),
        "rarity": (features, "float32"),
        "weights": ((labels, *features), "float32"),
        "bias": ((labels,), "float32"),
        "learned": ((labels,), "bool"),
        "always": ((labels,), "bool"),
        "several": ((1,), "bool"),
    }
    found = {name: (getattr(linear, name).shape, getattr(linear, name).dtype.name) for name in expected}
    return found == expected


def ngrams(text: str) -> list[str]:
    """The words of a text and the pairs of neighbours."""
    words = _WORD.findall(text.lower())
    return words + [f"{left} {right}" for left, right in pairwise(words)]


def digests_of(terms: list[str]) -> NDArray[np.int64]:
    """(V,): what stands for them in a file."""
    return np.array([_digest(term) for term in terms], dtype=np.int64)


def _digest(term: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True
    )

"""Sequences of tags as a linear chain: the best one, how likely all are, and how likely one span is.

A chain is a conditional random field (Lafferty et al. 2001): a sequence scores the sum of its words' scores and of
those between neighbours. Scores between neighbours may be learned, or be 0 for what is possible and -inf for what is
not: then the sequences that spell no spans have no share, and the others keep the proportions of their words' scores.

Everything is computed in float64, in logarithms that are shifted at each word, once over all words of a document, in
time and memory linear in their number. Shape letters: U words, M layers, K tags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longdoc.spans.tags import TagLayout

__all__ = ["Chain", "Marginals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Marginals:
    """What all sequences of a document say together.

    Attributes:
        log_partition: (M,), the logarithm of the sum of exp(score) over all sequences.
        words: (U, M, K), the probability of each tag of each word.
        steps: (M, K, K), how often the second tag follows the first, expected, summed over the document.
    """

    log_partition: Floats
    words: Floats
    steps: Floats


class Chain:
    """Scores between neighbours, and what follows from them.

    Args:
        start, end: (M, K), for the first and the last word of a document; -inf = impossible.
        step: (M, K, K), for a tag (last axis) behind another.
    """

    def __init__(self, start: Floats, step: Floats, end: Floats) -> None:
        self.start, self.step, self.end = (np.asarray(part, dtype=np.float64) for part in (start, step, end))
        with np.errstate(under="ignore"):
            self._top = self.step.max(axis=(1, 2), keepdims=True)
            self._step = np.exp(self.step - self._top)  # for sums; the shift is put back where they are logarithms
            self._end = np.exp(self.end)

    @classmethod
    def of(cls, layout: TagLayout) -> Chain:
        """0 for what a layout allows, -inf for the rest."""
        return cls(*(np.where(part, 0.0, -np.inf) for part in (layout.start, layout.step, layout.end)))

    def best(self, words: Floats) -> NDArray[np.int64]:
        """Viterbi: scores of the words (U, M, K) -> tags (U, M) of the best sequence; ties go to the first tag."""
        count, layers, tags = words.shape
        path = np.zeros((count, layers), dtype=np.int64)
        if not count:
            return path
        if not self.step.any() and not self.start.any() and not self.end.any():
            return np.asarray(words.argmax(axis=2), dtype=np.int64)
        back = np.zeros((count, layers, tags), dtype=np.int16)
        score = self.start + words[0]
        for word in range(1, count):
            routes = score[:, :, None] + self.step
            back[word] = routes.argmax(axis=1)
            score = routes.max(axis=1) + words[word]
        path[-1] = (score + self.end).argmax(axis=1)
        rows = np.arange(layers)
        for word in range(count - 1, 0, -1):
            path[word - 1] = back[word, rows, path[word]]
        return path

    def score(self, words: Floats, path: NDArray[np.int64]) -> Floats:
        """(M,): the score of a sequence (U, M)."""
        rows = np.arange(path.shape[1])
        total = np.take_along_axis(words, path[..., None], axis=2)[..., 0].sum(axis=0)
        total = total + self.start[rows, path[0]] + self.end[rows, path[-1]]
        return np.asarray(total + self.step[rows, path[:-1], path[1:]].sum(axis=0))

    def marginals(self, words: Floats) -> Marginals:
        """Forward and backward over a document of at least one word (U, M, K)."""
        forward, backward = self.forward(words), self.backward(words)
        log_partition = _log_sum(forward[-1] + self.end)
        with np.errstate(under="ignore"):
            chances = np.exp(forward + backward - log_partition[:, None])
            steps = np.zeros(self.step.shape)
            if len(words) > 1:
                # p(i, j) = exp(forward[i] + step[i, j] + word[j] + backward[j] - log_partition), each side shifted by
                # its largest so that only products of numbers up to 1 are formed.
                left, right = forward[:-1], words[1:] + backward[1:]
                high, low = left.max(axis=2, keepdims=True), right.max(axis=2, keepdims=True)
                scale = np.exp(high[..., 0] + low[..., 0] + self._top[:, 0, 0] - log_partition)
                pairs = np.einsum("umi,umj->mij", np.exp(left - high) * scale[..., None], np.exp(right - low))
                steps = pairs * self._step
        return Marginals(log_partition, chances, steps)

    def forward(self, words: Floats) -> Floats:
        """(U, M, K): the logarithm of the sum over all beginnings that end in a tag, that word included."""
        found = np.empty(words.shape)
        found[0] = self.start + words[0]
        top = self._top[:, 0]
        with np.errstate(divide="ignore", under="ignore"):
            for word in range(1, len(words)):
                before = found[word - 1]
                high = before.max(axis=1, keepdims=True)
                sums = np.matmul(np.exp(before - high)[:, None], self._step)[:, 0]
                found[word] = np.log(sums) + (high + top) + words[word]
        return found

    def backward(self, words: Floats) -> Floats:
        """(U, M, K): the same over all endings that follow a tag, that word not included."""
        found = np.empty(words.shape)
        found[-1] = self.end
        top = self._top[:, 0]
        with np.errstate(divide="ignore", under="ignore"):
            for word in range(len(words) - 1, 0, -1):
                behind = found[word] + words[word]
                high = behind.max(axis=1, keepdims=True)
                sums = np.matmul(self._step, np.exp(behind - high)[..., None])[..., 0]
                found[word - 1] = np.log(sums) + (high + top)
        return found

    def span_chances(self, words: Floats, layout: TagLayout, spans: list[tuple[int, int, int, int]]) -> list[float]:
        """The probability of each span: that just these words are a span of its label, neither more nor fewer.

        Args:
            words: (U, M, K).
            layout: whose tags they are.
            spans: layer, label, first word, end (exclusive).
        """
        if not spans:
            return []
        forward, backward = self.forward(words), self.backward(words)
        log_partition = _log_sum(forward[-1] + self.end)
        found = []
        for layer, label, first, end in spans:
            step, goes_on = self.step[layer], layout.continues[layer]
            mine = np.where(layout.labels[layer] == label, 0.0, -np.inf)
            into = (
                self.start[layer]
                if first == 0
                else _log_sum((forward[first - 1, layer][:, None] + np.where(goes_on, -np.inf, step)).T)
            )
            reached = into + words[first, layer] + mine
            for word in range(first + 1, end):
                reached = _log_sum((reached[:, None] + np.where(goes_on, step, -np.inf)).T) + words[word, layer] + mine
            if end == len(words):
                out = self.end[layer]
            else:
                after = words[end, layer] + backward[end, layer]
                out = _log_sum(np.where(goes_on, -np.inf, step) + after)
            total = float(_log_sum((reached + out)[None])[0] - log_partition[layer])
            found.append(min(1.0, float(np.exp(total))))
        return found


def _log_sum(values: Floats) -> Floats:
    """log(sum(exp(values))) over the last axis; -inf where all are."""
    high = values.max(axis=-1, keepdims=True)
    high = np.where(np.isfinite(high), high, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(values - high).sum(axis=-1)) + high[..., 0])

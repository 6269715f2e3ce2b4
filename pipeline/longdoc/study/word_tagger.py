"""A linear tagger over words: the yardstick for spans, as TF-IDF with a linear classifier is for labels.

Each word is described by itself, its shape, its first and last letters, and its neighbours; the tags of a document are
decoded once, so that they spell spans. No network and no chunk: it reads all of a text in milliseconds.

Shape letters: U words, M layers of tags, K tags of a layer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from longdoc.spans.alignment import align, trimmed, word_spans
from longdoc.spans.chain import Chain
from longdoc.spans.tags import tags_of
from longdoc.spans.words import Words, find_words
from longdoc.types import Document, DocumentPrediction, ScoredSpan

__all__ = ["WordTagger"]

_PIECE = re.compile(r"\w+|[^\w\s]")
_BUCKETS = 1 << 18  # features share a weight where their checksums agree
_PER_WORD = 12  # features
_EPOCHS, _BATCH, _RATE = 5, 256, 0.5


class WordTagger:
    """Learns the tags of words (BIO) from documents with spans: a multinomial logistic regression for each layer.

    Args:
        train: labelled, at least one with a word.
        labels: names of the labels; hold all that `train` has.
        overlapping: whether spans of different labels may overlap.
        seed: of the order in which words are seen.
    """

    def __init__(self, train: Sequence[Document], labels: Sequence[str], overlapping: bool, seed: int = 0) -> None:
        self.labels = tuple(labels)
        self.layout = tags_of(len(labels), "bio", overlapping)
        self._chain = Chain.of(self.layout)
        rows, tags = [], []
        for document in train:
            words = _words(document.text)
            rows.append(_features(document.text, words))
            tags.append(torch.from_numpy(align(document.text, words, document.spans or (), labels, self.layout)[0]))
        layers, kinds = self.layout.shape
        self._weights = torch.zeros(_BUCKETS, layers * kinds)
        self._learn(torch.cat(rows), torch.cat(tags), seed)

    def _learn(self, rows: Tensor, tags: Tensor, seed: int) -> None:
        """Adagrad (Duchi et al. 2011): weights that are rarely heard of take larger steps."""
        squares = torch.full_like(self._weights, 1e-10)
        order = torch.Generator().manual_seed(seed)
        for _ in range(_EPOCHS):
            for members in torch.split(torch.randperm(len(rows), generator=order), _BATCH):
                scores = self._scores(rows[members])
                wrong = scores.softmax(-1) - F.one_hot(tags[members], scores.shape[-1])
                heard, place = torch.unique(rows[members], return_inverse=True)
                each = (wrong.flatten(1) / len(members)).repeat_interleave(rows.shape[1], dim=0)
                slope = torch.zeros(len(heard), each.shape[1]).index_add_(0, place.flatten(), each)
                squares[heard] += slope.square()
                self._weights[heard] -= _RATE * slope / squares[heard].sqrt()

    def _scores(self, rows: Tensor) -> Tensor:
        """Features of words (U, features) -> (U, M, K)."""
        return F.embedding_bag(rows, self._weights, mode="sum").reshape(len(rows), *self.layout.shape)

    def predict(self, document: Document) -> DocumentPrediction:
        """The spans of a document, each with probability 1: nothing here says how sure it is."""
        text, words = document.text, _words(document.text)
        found: list[ScoredSpan] = []
        if len(words):
            scores = self._scores(_features(text, words)).double().log_softmax(-1).numpy()
            for _, label, first, last in word_spans(self._chain.best(scores), self.layout):
                start, end = trimmed(text, int(words.start[first]), int(words.end[last - 1]))
                found.append(ScoredSpan(start, end, self.labels[label], 1.0))
        spans = tuple(sorted(found, key=lambda span: (span.start, span.end, span.label)))
        return DocumentPrediction(document.id, spans=spans, n_tokens=len(words), n_chunks=1, tokens_read=len(words))


def _words(text: str) -> Words:
    places = np.array([match.span() for match in _PIECE.finditer(text)], dtype=np.int32).reshape(-1, 2)
    return find_words(text, places, np.arange(len(places), dtype=np.int32), "first")


def _features(text: str, words: Words) -> Tensor:
    """What is known of each word, as numbers of features: int64 (U, features)."""
    read = [text[start:end] for start, end in zip(words.start, words.end, strict=True)]
    small, shapes = [word.lower() for word in read], [_shape(word) for word in read]
    described = []
    for place, word in enumerate(small):
        known = [f"w={word}", f"s={shapes[place]}", f"b={word[:3]}", f"e={word[-3:]}", f"E={word[-2:]}"]
        for step in (-2, -1, 1, 2):
            other = place + step
            inside = 0 <= other < len(small)
            known.append(f"{step}={small[other] if inside else ''}")
            if abs(step) == 1:
                known.append(f"{step}s={shapes[other] if inside else ''}")
        known.append(f"p={small[place - 1] if place else ''} {word}")
        described.append([crc32(name.encode("utf-8", "surrogatepass")) % _BUCKETS for name in known])
    return torch.tensor(described, dtype=torch.int64).reshape(len(small), _PER_WORD)


def _shape(word: str) -> str:
    """`Ada` -> Xx, `2019` -> 0, `B-12` piece by piece: kinds of characters, each run once."""
    kinds = ["0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word]
    return "".join(kind for place, kind in enumerate(kinds) if not place or kinds[place - 1] != kind) + (
        "1" if len(word) == 1 else ""
    )

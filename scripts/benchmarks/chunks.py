"""How people cut documents for other engines: the tokenizer's own overflow, chunks of 512 tokens side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENCODER", "SIZE", "Cut", "cut", "merged", "save_vectors"]

SIZE = 512
ENCODER = "default"


class Cut(NamedTuple):
    """Chunks of many documents: their token ids with special tokens, and the document of each."""

    ids: list[list[int]]
    owner: list[int]
    tokens: int


def cut(tokenizer: Any, texts: Sequence[str]) -> Cut:
    """Document by document, as the guides of `transformers` do it."""
    ids: list[list[int]] = []
    owner: list[int] = []
    for number, text in enumerate(texts):
        found = tokenizer(text, max_length=SIZE, truncation=True, stride=0, return_overflowing_tokens=True)["input_ids"]
        ids += found
        owner += [number] * len(found)
    return Cut(ids, owner, sum(len(chunk) - 2 for chunk in ids))


def merged(vectors: NDArray[np.float32], chunks: Cut) -> NDArray[np.float32]:
    """(chunks, D) means over the tokens of a chunk -> (documents, D) means over the tokens of a document."""
    weights = np.array([len(chunk) - 2 for chunk in chunks.ids], dtype=np.float64)
    documents = np.zeros((max(chunks.owner) + 1, vectors.shape[1]))
    np.add.at(documents, chunks.owner, vectors * weights[:, None])
    totals = np.bincount(chunks.owner, weights)
    return (documents / totals[:, None]).astype(np.float32)


def save_vectors(path: str, vectors: NDArray[np.float32]) -> None:
    """For the comparison with those of other candidates."""
    if path:
        np.save(path, vectors)

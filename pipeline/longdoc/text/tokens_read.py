"""The tokens of a document that the encoder sees, with their places in the text: what answers about them need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longdoc.types import Span

__all__ = ["TokensRead"]


@dataclass(frozen=True, slots=True, repr=False)
class TokensRead:
    """The core tokens of all chunks that are read, strung together, each once. T of them.

    Attributes:
        text: the document's.
        offsets: int32 (T, 2), code points of `text`, half open.
        numbers: int32 (T,), which token of the document each is.
        chunks: span and core of every chunk that is read, in tokens of the document, in text order.
        question: what is asked of the document, if anything.
    """

    text: str
    offsets: NDArray[np.int32]
    numbers: NDArray[np.int32]
    chunks: tuple[tuple[Span, Span], ...]
    question: str = ""

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"TokensRead(tokens={len(self)}, chunks={len(self.chunks)})"

"""Loss and speed since the last line of metrics."""

from __future__ import annotations

import time

__all__ = ["Average"]


class Average:
    """The mean loss over documents, and tokens a second, since it was made."""

    def __init__(self) -> None:
        self.loss, self.documents = 0.0, 0
        self.start, self.tokens = time.monotonic(), 0

    def add(self, loss: float, documents: int, tokens: int) -> None:
        """A step with its mean loss, over all processes."""
        self.loss += loss * documents
        self.documents += documents
        self.tokens += tokens

    @property
    def mean_loss(self) -> float:
        """Of the documents since then."""
        return self.loss / max(1, self.documents)

    @property
    def tokens_per_second(self) -> float:
        """Of what was computed here since then, not before a stop."""
        return self.tokens / max(time.monotonic() - self.start, 1e-9)

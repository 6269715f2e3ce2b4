"""Chunk borders that give way to the text: a chunk ends, and the next one begins, where a section, a paragraph or a
sentence does, if one is near.

What stays as it was: every token is in the core of exactly one chunk, no chunk is longer than its size, neighbours
share at least the overlap, and a text that offers no border in reach has the plain plan.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from longdoc.schema import Config
from longdoc.text.planning import Keep
from longdoc.text.structure import BorderKind
from longdoc.types import Span

__all__ = ["BordersConfig", "border_reach", "bordered_spans"]


class BordersConfig(Config):
    """Where chunks would rather begin and end."""

    prefer: tuple[BorderKind, ...] = Field(default=("section", "paragraph", "sentence"), min_length=1)
    """What a chunk may begin with, the best first: `section`, `paragraph`, `sentence`."""
    tolerance: int = Field(default=64, ge=1)
    """Tokens by which a border may move towards the start of the text; never more than a quarter of what a chunk adds
    to the one before."""

    @field_validator("prefer")
    @classmethod
    def _once(cls, prefer: tuple[BorderKind, ...]) -> tuple[BorderKind, ...]:
        if len(set(prefer)) < len(prefer):
            raise ValueError("`prefer` must name each kind of border once, but names one twice. Leave it out.")
        return prefer

    def kind(self, rank: int) -> BorderKind | None:
        """The kind of border that has a rank of `BorderRanks`; None for 0."""
        return self.prefer[len(self.prefer) - rank] if rank else None


def border_reach(body: int, overlap: int, tolerance: int) -> int:
    """Tokens by which a border of such chunks may move: so that each chunk adds at least half of what it would."""
    return min(tolerance, (body - overlap) // 4)


def bordered_spans(
    n_tokens: int, body: int, overlap: int, ranks: NDArray[np.int8], tolerance: int, keep: Keep = "all"
) -> Iterator[Span]:
    """The ranges of a document's chunks that are read, one by one; for `head_tail` the first and the last.

    A chunk ends where it would in the plain plan, or at the best border up to `border_reach` tokens before; of equally
    good ones at the last. The next one begins `overlap` tokens before that end, or at the best border up to
    `border_reach` tokens before; without an overlap, at the end. For `tail` the start moves forward instead.

    Args:
        n_tokens, body, overlap: as in `plan_chunks`.
        ranks: int8 (n_tokens,), how good it is to begin a chunk with each token; 0 = no border.
        tolerance: of `BordersConfig`.
        keep: which chunks are read.
    """
    reach = border_reach(body, overlap, tolerance)
    if keep == "tail":
        first = max(0, n_tokens - body)
        last = min(first + reach, n_tokens - 1) if first else 0
        yield Span(first + int(np.argmax(ranks[first : last + 1])) if first else 0, n_tokens)
        return
    start, number = 0, 0
    while start + body < n_tokens:
        end = _best(ranks, start + body, reach)
        if number == 0 or keep == "all":
            yield Span(start, end)
        if keep == "head":
            return
        start = _best(ranks, end - overlap, reach) if overlap else end
        number += 1
    yield Span(start, n_tokens)


def _best(ranks: NDArray[np.int8], place: int, reach: int) -> int:
    """The place itself or the best border up to `reach` tokens before it, the last of equals."""
    return place - int(np.argmax(ranks[place - reach : place + 1][::-1]))

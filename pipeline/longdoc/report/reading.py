"""Where in its text a document was read, and by which chunk: what tokens know, said in code points."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from longdoc.types import Chunk, TokenizedDocument

__all__ = ["ReadingMap", "reading_map"]


@dataclass(frozen=True, repr=False)
class ReadingMap:
    """Which chunk answers for which part of a text.

    Attributes:
        cores: `[start, end)` of each chunk's core in code points, in text order; an empty core is left out.
        numbers: of those chunks, from 1.
        unread: parts of the text whose tokens no chunk answers for.
    """

    cores: tuple[tuple[int, int], ...] = ()
    numbers: tuple[int, ...] = ()
    unread: tuple[tuple[int, int], ...] = ()

    def chunk_at(self, place: int) -> int | None:
        """The number of the chunk that answers for a code point or, between two cores, for what follows it.

        None where nothing that follows was read.
        """
        found = bisect.bisect_right(self.cores, place, key=lambda core: core[1])
        return self.numbers[found] if found < len(self.cores) else None


def reading_map(tokenized: TokenizedDocument, chunks: Iterable[Chunk]) -> ReadingMap:
    """The map of one document.

    Args:
        tokenized: all its tokens.
        chunks: those that were kept, in text order.
    """
    offsets = tokenized.offsets

    def characters(first: int, last: int) -> tuple[int, int]:
        return int(offsets[first, 0]), int(offsets[last - 1, 1])

    cores, numbers, unread = [], [], []
    done = 0
    for number, chunk in enumerate(chunks, 1):
        start, end = chunk.core
        if start == end:
            continue
        if start > done:
            unread.append(characters(done, start))
        cores.append(characters(start, end))
        numbers.append(number)
        done = end
    if done < len(tokenized):
        unread.append(characters(done, len(tokenized)))
    return ReadingMap(tuple(cores), tuple(numbers), tuple(unread))

"""Chunk plans written out step by step, straight from the definition. Slow on purpose."""

from __future__ import annotations


def plan_chunks_slowly(n_tokens: int, body: int, overlap: int) -> list[tuple[int, int]]:
    """Chunk k starts at k * (body - overlap), is `body` long at most, and the first to reach the end is the last."""
    chunks = []
    start = 0
    while True:
        end = start
        while end < n_tokens and end - start < body:
            end += 1
        chunks.append((start, end))
        if end == n_tokens:
            return chunks
        start += body - overlap


def owner_of_each_token(chunks: list[tuple[int, int]], n_tokens: int) -> list[int]:
    """For each token the chunk in which its narrower side of context is widest, the earlier one where two are equal.

    A side on which the chunk reaches the end of the document lacks nothing.
    """
    owners = []
    for token in range(n_tokens):
        best, widest = -1, -1
        for number, (start, end) in enumerate(chunks):
            if start <= token < end:
                left = n_tokens if start == 0 else token - start
                right = n_tokens if end == n_tokens else end - 1 - token
                if min(left, right) > widest:
                    best, widest = number, min(left, right)
        owners.append(best)
    return owners


def bordered_chunks_slowly(
    n_tokens: int, body: int, overlap: int, ranks: list[int], tolerance: int
) -> list[tuple[int, int]]:
    """A chunk ends at the best border in reach before its planned end, the latest of equals, and so does the overlap
    before it begin; nothing moves where nothing is better."""
    reach = min(tolerance, (body - overlap) // 4)

    def moved(place: int) -> int:
        best = place
        for candidate in range(place - 1, place - reach - 1, -1):
            if ranks[candidate] > ranks[best]:
                best = candidate
        return best

    chunks = []
    start = 0
    while n_tokens - start > body:
        end = moved(start + body)
        chunks.append((start, end))
        start = moved(end - overlap) if overlap > 0 else end
    return [*chunks, (start, n_tokens)]

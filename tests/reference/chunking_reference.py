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

"""Chunk arithmetic on plain integers: which tokens go into which chunk, and which chunk answers for which token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from longdoc.errors import UsageError
from longdoc.types import Span

__all__ = ["STARTS", "Keep", "chunk_body", "count_chunks", "plan_chunks", "plan_cores", "spans", "with_cores"]

Keep = Literal["all", "head", "tail", "head_tail"]
"""What is read of a document: all chunks, the first, as many last tokens as one chunk holds, or the first and the last
chunk."""

STARTS: dict[Keep, Callable[[int, int, int], range]] = {
    "all": lambda n_tokens, body, step: range(0, count_chunks(n_tokens, body, body - step) * step, step),
    "head": lambda n_tokens, body, step: range(1),
    "tail": lambda n_tokens, body, step: range(max(0, n_tokens - body), max(0, n_tokens - body) + 1),
    "head_tail": lambda n_tokens, body, step: (all_ := STARTS["all"](n_tokens, body, step))[:: max(1, len(all_) - 1)],
}
"""Tokens of a document, of a chunk, and from one start to the next -> where the chunks that are read start."""


def chunk_body(size: int, specials: int, overlap: int = 0, prefix_tokens: int = 0) -> int:
    """Document tokens that fit into a chunk.

    Args:
        size: tokens of a chunk, all included.
        specials: special tokens of a chunk.
        overlap: document tokens that neighbouring chunks share; at least one more must fit.
        prefix_tokens: tokens that every chunk begins with, such as a question or an instruction.

    Raises:
        UsageError: no room is left for the document, or not more than the overlap.
    """
    body = size - specials - prefix_tokens
    if body < 1 and prefix_tokens:
        raise UsageError(
            f"`prefix_tokens` must be at most {max(0, size - specials - 1)} for chunks of `size` {size} with "
            f"{specials} special tokens, but is {prefix_tokens} instead: the prefix leaves no room. Shorten it, or "
            f"raise `size`."
        )
    if body < 1:
        raise UsageError(
            f"`size` must be at least {specials + 1} for chunks with {specials} special tokens, but is {size} instead. "
            f"Raise `size`."
        )
    if not 0 <= overlap < body:
        prefix = f" and a prefix of {prefix_tokens}" if prefix_tokens else ""
        raise UsageError(
            f"`overlap` must be in [0, {body - 1}] for chunks of `size` {size} with {specials} special tokens{prefix}, "
            f"but is {overlap} instead. Change `overlap`, or raise `size`."
        )
    return body


def plan_chunks(n_tokens: int, body: int, overlap: int) -> list[tuple[int, int]]:
    """The half-open token ranges of a document's chunks, in order.

    One chunk if `n_tokens <= body`. Otherwise chunk k starts at `k * (body - overlap)`, is `body` long (the last one
    may be shorter), and the first that reaches the end is the last. An empty document has one empty chunk.

    Args:
        n_tokens: tokens of the document, at least 0.
        body: document tokens of a chunk, at least 1.
        overlap: tokens that neighbours share, in [0, body).

    Raises:
        UsageError: one of the three is out of its bounds.
    """
    return [(span.start, span.end) for span in spans(n_tokens, body, overlap)]


def plan_cores(chunks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each chunk the tokens that it answers for: a partition of all tokens that the chunks hold.

    An overlap is cut in its middle, so a token belongs to the chunk in which its narrower side of context is widest;
    the middle token of an odd overlap goes to the earlier chunk.

    Args:
        chunks: half-open ranges whose starts and ends both rise, as `plan_chunks` makes them or a selection of those.

    Raises:
        UsageError: the ranges do not rise.
    """
    for number, (left, right) in enumerate(pairwise(chunks)):
        if not (left[0] < right[0] and left[1] < right[1]):
            raise UsageError(
                f"`chunks` must start and end later one after the other, but chunk {number + 1} is {tuple(right)} "
                f"after {tuple(left)}. Sort them and leave out those that lie inside others."
            )
    return [(core.start, core.end) for _, core in with_cores(Span(*chunk) for chunk in chunks)]


def _check_plan(n_tokens: int, body: int, overlap: int) -> None:
    if n_tokens < 0:
        raise UsageError(f"`n_tokens` must be at least 0, but is {n_tokens} instead.")
    if body < 1:
        raise UsageError(f"`body` must be at least 1, but is {body} instead. Raise the chunk size.")
    if not 0 <= overlap < body:
        raise UsageError(
            f"`overlap` must be at least 0 and less than the chunk body ({body}), but is {overlap} instead. "
            f"Use at most {body - 1}, or raise the chunk size."
        )


def count_chunks(n_tokens: int, body: int, overlap: int) -> int:
    """How many chunks `plan_chunks` makes."""
    _check_plan(n_tokens, body, overlap)
    return 1 if n_tokens <= body else 1 - (body - n_tokens) // (body - overlap)


def spans(n_tokens: int, body: int, overlap: int, keep: Keep = "all") -> Iterator[Span]:
    """The ranges of `plan_chunks` that are read, one by one."""
    for start in STARTS[keep](n_tokens, body, body - overlap):
        yield Span(start, min(start + body, n_tokens))


def with_cores(spans: Iterable[Span]) -> Iterator[tuple[Span, Span]]:
    """Each span with its core, one span behind, so that a plan of any length needs no memory."""
    waiting: Span | None = None
    start = 0
    for span in spans:
        if waiting is None:
            start = span.start
        else:
            middle = span.start + max(0, waiting.end - span.start + 1) // 2
            yield waiting, Span(start, min(middle, waiting.end))
            start = middle
        waiting = span
    if waiting is not None:
        yield waiting, Span(start, waiting.end)

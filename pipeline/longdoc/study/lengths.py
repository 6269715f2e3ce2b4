"""How long documents are, what each way of chunking would cost, and which one to start with. Counting only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longdoc.errors import UsageError, counted

__all__ = ["ChunkingCost", "LengthReport", "Recommendation", "length_report"]

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)
SIZES = (128, 256, 512)
OVERLAP_SHARES = (0, 1 / 8, 1 / 4, 1 / 2)
FEW = 0.05
"""Up to this share of longer documents, chunking is said to matter little."""
AFFORDABLE = 0.4
"""An overlap may add this share of tokens to documents of several chunks: 128 of 512 adds at most 128 / 382 = 0.34."""


@dataclass(frozen=True)
class ChunkingCost:
    """What one chunk size and overlap would cost.

    Attributes:
        size, overlap: as in `ChunkingConfig`.
        chunks: of all documents together.
        tokens_encoded: tokens that the encoder sees, special and repeated ones included, padding not.
        cost_factor: `tokens_encoded` over the documents' own tokens.
        share_chunked: share of the documents that have more than one chunk.
    """

    size: int
    overlap: int
    chunks: int
    tokens_encoded: int
    cost_factor: float
    share_chunked: float


@dataclass(frozen=True)
class Recommendation:
    """Which size and overlap to start with, and the reason in words."""

    size: int
    overlap: int
    reason: str


@dataclass(frozen=True)
class LengthReport:
    """Lengths of the documents of a corpus, in tokens of the document (special tokens not counted).

    Attributes:
        documents: with at least one token; `empty` counts the others.
        tokens: of all documents.
        percentiles: "p10" ... "p99" and "max": a length that so many per cent of the documents do not exceed.
        share_over_one_chunk: share of the documents that do not fit into one chunk of the largest size.
        share_beyond_one_chunk: share of all tokens that lie behind the first such chunk: what truncation would lose.
        costs: one entry for each size and overlap.
        recommendation: where to start; what is best, only a comparison on labelled documents can tell.
    """

    documents: int
    empty: int
    tokens: int
    percentiles: dict[str, int]
    share_over_one_chunk: float
    share_beyond_one_chunk: float
    costs: tuple[ChunkingCost, ...]
    recommendation: Recommendation

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"costs": [asdict(cost) for cost in self.costs]}

    def to_text(self) -> str:
        """A table for people."""
        largest = max(cost.size for cost in self.costs)
        lines = [
            f"{counted(self.documents, 'document')}, {counted(self.tokens, 'token')}"
            + (f"; {self.empty} more without a token" if self.empty else ""),
            "length in tokens: " + "  ".join(f"{name} {value}" for name, value in self.percentiles.items()),
            f"{self.share_over_one_chunk:.1%} do not fit into one chunk of {largest}; "
            f"{self.share_beyond_one_chunk:.1%} of all tokens lie behind the first one",
            "",
            "size  overlap      chunks  tokens encoded  cost factor  in several chunks",
        ]
        for cost in self.costs:
            mark = (
                "  <-" if (cost.size, cost.overlap) == (self.recommendation.size, self.recommendation.overlap) else ""
            )
            lines.append(
                f"{cost.size:>4}  {cost.overlap:>7}  {cost.chunks:>10}  {cost.tokens_encoded:>14}  "
                f"{cost.cost_factor:>11.2f}  {cost.share_chunked:>17.1%}{mark}"
            )
        start = f"Start with size {self.recommendation.size}, overlap {self.recommendation.overlap}."
        return "\n".join([*lines, "", f"{start} {self.recommendation.reason}"])


def length_report(
    token_counts: ArrayLike,
    sizes: Sequence[int] = SIZES,
    overlap_shares: Sequence[float] = OVERLAP_SHARES,
    specials: int = 2,
) -> LengthReport:
    """Report on documents of so many tokens each.

    Args:
        token_counts: int (B,), tokens of each document without special ones.
        sizes: chunk sizes, special tokens included.
        overlap_shares: overlaps as shares of the size.
        specials: special tokens of a chunk.

    Raises:
        UsageError: no document has a token.
    """
    counts = np.asarray(token_counts, dtype=np.int64).reshape(-1)
    full = counts[counts > 0]
    if not len(full):
        raise UsageError(
            f"`token_counts` must hold a document with at least 1 token, but none of {len(counts)} has one."
        )
    costs = tuple(
        _cost(full, size, int(size * share), specials)
        for size in sizes
        for share in overlap_shares
        if int(size * share) < size - specials
    )
    longest = np.percentile(full, PERCENTILES, method="inverted_cdf").astype(int)
    body = max(sizes) - specials
    return LengthReport(
        documents=len(full),
        empty=len(counts) - len(full),
        tokens=int(full.sum()),
        percentiles={f"p{share}": int(n) for share, n in zip(PERCENTILES, longest, strict=True)}
        | {"max": int(full.max())},
        share_over_one_chunk=float((full > body).mean()),
        share_beyond_one_chunk=float(np.maximum(full - body, 0).sum() / full.sum()),
        costs=costs,
        recommendation=_recommend(full, costs, specials),
    )


def _cost(counts: NDArray[np.int64], size: int, overlap: int, specials: int) -> ChunkingCost:
    """Closed form of `plan_chunks`: a chunk after the first adds `body - overlap` new tokens and repeats `overlap`."""
    body = size - specials
    further = np.ceil(np.maximum(counts - body, 0) / (body - overlap)).astype(np.int64)
    chunks = int(further.sum()) + len(counts)
    encoded = int(counts.sum()) + overlap * int(further.sum()) + specials * chunks
    return ChunkingCost(size, overlap, chunks, encoded, encoded / int(counts.sum()), float((further > 0).mean()))


def _recommend(counts: NDArray[np.int64], costs: Sequence[ChunkingCost], specials: int) -> Recommendation:
    """The largest size: widest context, fewest chunks to merge. Of its overlaps the widest one that is affordable."""
    size = max(cost.size for cost in costs)
    overlaps = sorted(cost.overlap for cost in costs if cost.size == size)
    longer = counts[counts > size - specials]
    if not len(longer):
        reason = f"Every document fits into one chunk of {size}: chunking, overlap and merging change nothing here."
        return Recommendation(size, overlaps[0], reason)
    plain = _cost(longer, size, overlaps[0], specials).tokens_encoded
    added = {overlap: _cost(longer, size, overlap, specials).tokens_encoded / plain - 1 for overlap in overlaps}
    best = max(overlap for overlap in overlaps if added[overlap] <= AFFORDABLE)
    share = len(longer) / len(counts)
    if share <= FEW:
        reason = (
            f"Only {share:.1%} of the documents do not fit into one chunk of {size}, so reading them to the end can "
            f"change few answers: compare with reading the head alone."
        )
    else:
        lost = np.maximum(counts - (size - specials), 0).sum() / counts.sum()
        reason = (
            f"{share:.1%} of the documents do not fit into one chunk of {size}; truncated there, {lost:.1%} of all "
            f"tokens would never be read."
        )
    if best:
        reason += (
            f" An overlap of {best} gives each token at least {best // 2} neighbours on both sides, except at the ends "
            f"of a document; it makes the longer documents {added[best]:.0%} dearer, and no overlap of the table that "
            f"stays under {AFFORDABLE:.0%} is wider."
        )
    return Recommendation(size, best, reason)

"""Texts of unequal length side by side without a mask: where each begins and ends is all that a kernel is told.

Shape letters: N rows, L padded length, T tokens that are kept, S texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["Packing", "to_device"]


def to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on a device. A GPU copies from pinned memory by itself, and nobody waits for it."""
    pins = torch.device(device).type == "cuda" and tensor.device.type == "cpu"
    return (tensor.pin_memory() if pins else tensor).to(device, non_blocking=True)


@dataclass(frozen=True, eq=False)
class Packing:
    """How the tokens of a padded batch stand behind each other, for attention that never looks across a border.

    Attributes:
        bounds: int32 (S + 1,), where each text begins, and the end of the last, counted in kept tokens.
        longest: tokens of the longest text.
        kept: int64 (T,), which of the N * L tokens, row by row, are kept; None = all, padding is a text of its own
            then. All is slower and keeps the shape of every product, hence the bits of a row whatever stands beside it.
    """

    bounds: Tensor
    longest: int
    kept: Tensor | None

    @classmethod
    def of(cls, lengths: Sequence[int], rows: int, length: int, keeps_padding: bool) -> Packing:
        """From what is known before anything goes to a device, so that nobody waits for an answer of it.

        Args:
            lengths: real tokens of the first rows, from their first column on.
            rows, length: N and L. Rows without an entry in `lengths` are filler, one text of L tokens each.
            keeps_padding: whether padding is kept, as texts of its own.

        Raises:
            UsageError: more lengths than rows, or a length that is not in [1, L].
        """
        if len(lengths) > rows or any(not 1 <= each <= length for each in lengths):
            raise UsageError(
                f"`lengths` must be at most {rows} numbers in [1, {length}], the rows and the length of the batch, but "
                f"are {len(lengths)} from {min(lengths, default=0)} to {max(lengths, default=0)} instead."
            )
        real = np.array([*lengths, *[length] * (rows - len(lengths))], dtype=np.int64)
        if keeps_padding:
            ends = np.stack([real, np.full(rows, length)], axis=1) + np.arange(rows)[:, None] * length
            bounds = np.unique(np.append(0, ends))  # a full row has no padding: both its ends are one
            return cls(torch.from_numpy(bounds.astype(np.int32)), int(np.diff(bounds).max()), None)
        kept = np.flatnonzero(np.arange(length) < real[:, None])
        bounds = np.append(0, real.cumsum())
        return cls(torch.from_numpy(bounds.astype(np.int32)), int(real.max()), torch.from_numpy(kept))

    def to(self, device: torch.device | str) -> Packing:
        """The same on a device."""
        kept = None if self.kept is None else to_device(self.kept, device)
        return Packing(to_device(self.bounds, device), self.longest, kept)

    def pack(self, x: Tensor, rows: int) -> Tensor:
        """(..., 1|N, L) -> (..., 1, T), the kept tokens in one row; as it is where all are kept."""
        if self.kept is None:
            return x
        return x.expand(*x.shape[:-2], rows, x.shape[-1]).flatten(-2).index_select(-1, self.kept)[..., None, :]

    def unpack(self, x: Tensor, rows: int, length: int) -> Tensor:
        """(1, T, D) -> (N, L, D), zeros in padding; as it is where all are kept."""
        if self.kept is None:
            return x
        padded = x.new_zeros(rows * length, x.shape[-1])
        return padded.index_copy(0, self.kept, x[0]).view(rows, length, -1)

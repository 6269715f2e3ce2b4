"""Rows of documents under an encoder that does not learn: computed once, then kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from longdoc.errors import LongDocError
from longdoc.nn.readout import Readout
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.training.data import Example
from longdoc.training.rows_on_disk import rows_of
from longdoc.types import Document, DocumentFailure

__all__ = ["FrozenRows", "rows_in_bytes"]


def rows_in_bytes(readout: Readout, chunks: int) -> int:
    """The memory of the rows of so many chunks, float32."""
    return 4 * readout.row_width * chunks


class FrozenRows:
    """Computed by the same code as predictions and kept in memory.

    F floats a chunk: a thousand documents of ten chunks take 15 MB with MiniLM, and 8 GB where states are kept.

    Args:
        folder: rows that are there are not computed again, new ones are added; None = in memory alone.

    Attributes:
        train: rows of the training examples, in order.
        validation: rows, or the failure, of every validation document.
    """

    def __init__(self, pipeline: Pipeline, folder: Path | None = None) -> None:
        self.pipeline = pipeline
        self.folder = folder
        self.train: list[DocumentRows] = []
        self.validation: list[DocumentRows | DocumentFailure] = []

    def compute(
        self,
        examples: Sequence[Example],
        train: Sequence[Document],
        validation: Sequence[Document],
        tell: Callable[[int, int], None],
    ) -> None:
        """Encode everything once; `tell` hears how many documents of how many are done.

        Args:
            examples: those of the documents `train` that are learned from.

        Raises:
            LongDocError: a training document cannot be encoded.
        """
        kept = [train[example.number] for example in examples]
        total = len(kept) + len(validation)
        for done, item in enumerate(rows_of(self.pipeline, [*kept, *validation], self.folder)):
            if done >= len(kept):
                self.validation.append(item)
            elif isinstance(item, DocumentRows):
                self.train.append(item)
            else:
                cause = f", {item.error}" if item.error else ""
                raise LongDocError(
                    f"training document number {examples[done].number + 1} cannot be encoded: {item.reason} while the "
                    f"stage {item.stage} was at work{cause}. {item.detail or 'Remove it, or free memory.'}"
                )
            tell(done + 1, total)

    def gather(self, members: Sequence[int], device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """rows (N, F), owner (N,), weights (N,) of training examples."""
        parts = [self.train[m] for m in members]
        owner = torch.cat([torch.full((len(part.rows),), number) for number, part in enumerate(parts)])
        rows, weights = torch.cat([part.rows for part in parts]), torch.cat([part.weights for part in parts])
        return rows.to(device), owner.to(device), weights.to(device)

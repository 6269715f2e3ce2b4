"""The scores of one document, from the rows of its chunks: of those of a very long one in the memory of a few blocks.

A document of a thousand million characters has half a million chunks. Where the readout can do with less than a row of
each (`Readout.condenses`), blocks of neighbouring chunks are condensed as they come home; a document whose rows are all
there is condensed block by block in the same way, so that its scores are the same bits.
"""

from __future__ import annotations

from functools import partial

import torch

from longdoc.assemble import BLOCK, Condense
from longdoc.model import LongDocModel
from longdoc.streaming import DocumentRows

__all__ = ["condenser", "document_scores"]


def condenser(model: LongDocModel, device: torch.device) -> Condense | None:
    """What makes one row of a block's rows, on `device`; None where all rows are needed."""
    return partial(_condensed, model, device) if model.readout.condenses else None


def _condensed(model: LongDocModel, device: torch.device, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return model.readout.condensed(rows.to(device), weights.to(device)).cpu()


def document_scores(model: LongDocModel, document: DocumentRows, device: torch.device) -> torch.Tensor:
    """(1, C), or whatever the task takes: float32 or finer, on `device`, in inference mode.

    The document is merged alone, so that nobody else can touch its bits.
    """
    rows, weights, condensed = document.rows, document.weights, document.condensed
    condense = condenser(model, device)
    if condense is not None and not condensed and len(rows) > BLOCK:
        blocks = list(zip(torch.split(rows, BLOCK), torch.split(weights, BLOCK), strict=True))
        rows = torch.stack([condense(*block) for block in blocks])
        weights, condensed = torch.stack([part.sum() for _, part in blocks]), True
    owner = torch.zeros(len(rows), dtype=torch.int64, device=device)
    score = model.readout.of_condensed if condensed else model.documents
    with torch.inference_mode():
        return score(rows.to(device), owner, weights.to(device), 1)

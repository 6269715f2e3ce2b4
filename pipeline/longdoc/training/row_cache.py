"""Exact gradients through any number of chunks, in the memory of one micro-batch.

A document's score depends on its chunks only through their rows. So: rows of all chunks without gradient, micro-batch
by micro-batch; the loss and its gradient with respect to the rows; then each micro-batch once more, this time with
gradient, from the gradient of its rows. The random state is replayed, so dropout drops the same units both times.
The idea is that of gradient caching (Gao et al. 2021, arXiv 2101.06983), here for the chunks of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from longdoc.model import LongDocModel
from longdoc.precision import Placement
from longdoc.types import ChunkBatch

__all__ = ["backward_through_documents"]


def backward_through_documents(
    model: LongDocModel,
    batches: Sequence[ChunkBatch],
    documents: int,
    loss: Callable[[torch.Tensor], torch.Tensor],
    placement: Placement,
    backward: Callable[[torch.Tensor], None],
) -> torch.Tensor:
    """Add the gradient of `loss` to the parameters, through every chunk of every document.

    Args:
        model: in training mode.
        batches: micro-batches that together hold all chunks of the documents, each once, on the model's device;
            `owner` counts the same documents in all of them.
        documents: their number B.
        loss: (B, C) scores -> scalar.
        placement: for autocast.
        backward: `accelerator.backward` or `torch.Tensor.backward`; called with scalars only.

    Returns:
        The loss, detached.
    """
    owner = torch.cat([batch.owner for batch in batches])
    weights = torch.cat([batch.weights for batch in batches])
    if len(batches) == 1:
        with placement.autocast():
            rows = model.chunk_rows(batches[0])
        value = loss(model.documents(rows, owner, weights, documents))
        backward(value)
        return value.detach()

    states = []
    cached = []
    for batch in batches:
        states.append(_random_state(placement.device))
        with torch.no_grad(), placement.autocast():
            cached.append(model.chunk_rows(batch))
    rows = torch.cat(cached).requires_grad_()
    value = loss(model.documents(rows, owner, weights, documents))
    backward(value)
    after = _random_state(placement.device)
    if rows.grad is not None:
        for batch, state, gradient in zip(
            batches, states, torch.split(rows.grad, [len(part) for part in cached]), strict=True
        ):
            _set_random_state(placement.device, state)
            with placement.autocast():
                again = model.chunk_rows(batch)
            torch.autograd.backward(again, gradient)
        _set_random_state(placement.device, after)
    return value.detach()


def _random_state(device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _set_random_state(device: torch.device, state: tuple[torch.Tensor, torch.Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)

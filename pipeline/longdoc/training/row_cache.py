"""Exact gradients through any number of chunks, in the memory of one micro-batch.

A document's score depends on its chunks only through their rows. So: rows of all chunks without gradient, micro-batch
by micro-batch; the loss and its gradient with respect to the rows; then each micro-batch once more, this time with
gradient, from the gradient of its rows. The random state is replayed, so dropout drops the same units both times.
The idea is that of gradient caching (Gao et al. 2021, arXiv 2101.06983), here for the chunks of documents.
"""

from __future__ import annotations

import itertools
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
    between: Callable[[], None] = lambda: None,
    in_one_pass: bool = False,
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
        between: called before each micro-batch, in both passes; what it raises ends the computation.
        in_one_pass: keep what all of the micro-batches leave behind, instead of computing each of them twice.

    Returns:
        The loss, detached.
    """
    owner = torch.cat([batch.owner for batch in batches])
    weights = torch.cat([batch.weights for batch in batches])
    if in_one_pass or len(batches) == 1:
        parts = []
        for batch in batches:
            between()
            with placement.autocast():
                parts.append(model.chunk_rows(batch))
        rows = torch.cat(parts)
        value = loss(model.documents(rows, owner, weights, documents))
        backward(value)
        return value.detach()

    states = _RandomStates(len(batches), placement.device)
    sizes = [len(batch.owner) for batch in batches]
    rows = torch.empty(0)
    for number, (batch, part) in enumerate(zip(batches, _places(sizes), strict=True)):
        between()
        states.keep(number)
        with torch.no_grad(), placement.autocast():
            found = model.chunk_rows(batch)
        if not number:
            rows = found.new_empty((sum(sizes), *found.shape[1:]))
        rows[part] = found
    rows.requires_grad_()
    value = loss(model.documents(rows, owner, weights, documents))
    backward(value)
    after = _random_state(placement.device)
    if rows.grad is not None:
        for number, (batch, part) in enumerate(zip(batches, _places(sizes), strict=True)):
            between()
            states.replay(number)
            with placement.autocast():
                again = model.chunk_rows(batch)
            torch.autograd.backward(again, rows.grad[part])
        _set_random_state(placement.device, after)
    return value.detach()


def _places(sizes: Sequence[int]) -> list[slice]:
    """Where parts of so many rows lie, one behind the other."""
    ends = list(itertools.accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


class _RandomStates:
    """The random state before each micro-batch, in one piece of memory.

    Tensors of their own, of states as of rows, would lie between what micro-batches leave and keep the allocator from
    using that again.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        self._device = device
        state, on_device = _random_state(device)
        self._states = state.new_empty((count, len(state)))
        self._on_device = None if on_device is None else on_device.new_empty((count, len(on_device)))

    def keep(self, number: int) -> None:
        """Note the state of now as that before micro-batch `number`."""
        state, on_device = _random_state(self._device)
        self._states[number] = state
        if self._on_device is not None and on_device is not None:
            self._on_device[number] = on_device

    def replay(self, number: int) -> None:
        """Be in the state that was before micro-batch `number`."""
        on_device = None if self._on_device is None else self._on_device[number].clone()
        _set_random_state(self._device, (self._states[number].clone(), on_device))


def _random_state(device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _set_random_state(device: torch.device, state: tuple[torch.Tensor, torch.Tensor | None]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)

"""Longer tables of learned positions, as steps that a person takes.

A table ends where its training ended. Whatever continues it is a guess that wants fine-tuning, and interpolation also
changes short texts, so neither happens by itself when a long text arrives: these functions return a new encoding, and
its `rows` and `offset` belong into the configuration.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.learned import LearnedPosition
from longdoc.nn.position.limits import check_whole

__all__ = ["interpolate", "tile"]


def interpolate(position: LearnedPosition, tokens: int) -> LearnedPosition:
    """An encoding for `tokens` positions, with the trained ones spread over them and lines drawn between.

    The rows before the first position (RoBERTa's offset) are copied; the first and the last position keep their rows.
    Every text, short or long, gets other positions than before.
    """
    offset, trained = _split(position, tokens)
    places = torch.arange(tokens, dtype=torch.float64, device=trained.device)
    places = places * (len(trained) - 1) / max(tokens - 1, 1)
    low = places.floor().to(torch.int64).clamp(max=len(trained) - 1)
    high = (low + 1).clamp(max=len(trained) - 1)
    share = (places - low)[:, None]
    rows = trained[low].double() * (1 - share) + trained[high].double() * share
    return _with_rows(position, torch.cat([offset, rows.to(trained.dtype)]))


def tile(position: LearnedPosition, tokens: int) -> LearnedPosition:
    """An encoding for `tokens` positions, with the trained ones repeated (Longformer, Beltagy et al. 2020, 2004.05150).

    The rows before the first position (RoBERTa's offset) are copied once. Texts that were short enough before get the
    very positions they had.
    """
    offset, trained = _split(position, tokens)
    places = torch.arange(tokens, device=trained.device) % len(trained)
    return _with_rows(position, torch.cat([offset, trained[places]]))


def _split(position: LearnedPosition, tokens: int) -> tuple[Tensor, Tensor]:
    """The rows before the first position, and the trained ones."""
    if not isinstance(position, LearnedPosition):
        raise UsageError(
            f"`position` must be a LearnedPosition, but is a {type(position).__name__} instead. Only tables end."
        )
    check_whole(tokens, "tokens", 1)
    if tokens < position.max_tokens:
        raise UsageError(
            f"`tokens` must be at least {position.max_tokens}, the positions that the table has, but is {tokens} "
            "instead. A shorter table needs no surgery: use fewer positions."
        )
    weight = position.weight.detach()
    return weight[: position.offset], weight[position.offset :]


def _with_rows(position: LearnedPosition, weight: Tensor) -> LearnedPosition:
    longer = LearnedPosition(position.width, len(weight), position.offset).to(weight.device, weight.dtype)
    longer.load_state_dict({"weight": weight})
    longer.weight.requires_grad_(position.weight.requires_grad)
    return longer.train(position.training)

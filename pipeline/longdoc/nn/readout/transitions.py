"""Learned scores between neighbouring tags: the conditional random field of a tagger, and its loss.

Source: Lafferty et al. 2001, "Conditional random fields"; Collobert et al. 2011 (arXiv 1103.0398, section 3.3.2).
The loss and its gradient are computed in float64 on the CPU: a document is a chain of thousands of small steps.

Shape letters: U words, M layers, K tags.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from longdoc.spans.chain import Chain
from longdoc.spans.tags import TagLayout

__all__ = ["Transitions"]


class Transitions(nn.Module):
    """Scores of a tag at the start, behind another, and at the end of a document. All begin at 0.

    What the layout forbids stays impossible, whatever is learned.
    """

    def __init__(self, layout: TagLayout) -> None:
        super().__init__()
        layers, tags = layout.shape
        self.start = nn.Parameter(torch.zeros(layers, tags))
        self.step = nn.Parameter(torch.zeros(layers, tags, tags))
        self.end = nn.Parameter(torch.zeros(layers, tags))
        self._allowed = (layout.start, layout.step, layout.end)

    def chain(self) -> Chain:
        """The scores as they are now."""
        return _chain((self.start, self.step, self.end), self._allowed)

    def loss(self, words: Tensor, tags: Tensor) -> Tensor:
        """Minus the logarithm of the probability of a sequence, summed over the layers.

        Args:
            words: (U, M, K) scores, U >= 1.
            tags: int64 (U, M), a sequence that the layout allows.
        """
        right = words.gather(2, tags[..., None]).sum()
        layers = torch.arange(tags.shape[1], device=tags.device)
        right = right + self.start[layers, tags[0]].sum() + self.end[layers, tags[-1]].sum()
        right = right + self.step[layers, tags[:-1], tags[1:]].sum()
        whole: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
            words, self.start, self.step, self.end, self._allowed
        )
        return whole - right.to(whole.dtype)


def _chain(scores: tuple[Tensor, ...], allowed: tuple[Any, ...]) -> Chain:
    values = (part.detach().cpu().double().numpy() for part in scores)
    return Chain(*(np.where(possible, value, -np.inf) for value, possible in zip(values, allowed, strict=True)))


class _LogPartition(torch.autograd.Function):
    """log sum over all sequences of exp(score). Its gradient is what all sequences expect: no graph of U steps."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, start: Tensor, step: Tensor, end: Tensor, allowed: tuple[Any, ...]) -> Tensor:
        scores = words.detach().cpu().double().numpy()
        found = _chain((start, step, end), allowed).marginals(scores)
        expected = (found.words, found.words[0], found.steps, found.words[-1])
        ctx.expected = [
            torch.from_numpy(np.ascontiguousarray(part)).to(given.device, given.dtype)
            for part, given in zip(expected, (words, start, step, end), strict=True)
        ]
        return torch.tensor(found.log_partition.sum(), device=words.device)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        return (*(part * gradient.to(part.dtype) for part in ctx.expected), None)

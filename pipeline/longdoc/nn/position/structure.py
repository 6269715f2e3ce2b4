"""From ranges of tokens (sections, paragraphs, sentences) to the axes that tree positions read."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longdoc.errors import UsageError

__all__ = ["tree_steps"]


def tree_steps(length: int, levels: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """The path of each token from the root of its document, one step a level.

    Args:
        length: tokens of the document, or of the row.
        levels: for each level, coarse to fine, the half-open ranges of tokens of its nodes in reading order: sections,
            paragraphs, sentences. Ranges of a level do not overlap, and lie inside one range of the level above or
            outside of all (a paragraph before the first section is a child of the root).

    Returns:
        int64 (levels, length): the number of the child, from 1, counted anew in each parent, and 0 where a token is in
        no range of the level (special tokens). `stack_axes(order, *steps)` makes positions of it.

    Raises:
        UsageError: a range is empty or leaves the document, overlaps another of its level, or crosses the border of
            one of the level above.
    """
    steps = torch.zeros(len(levels), length, dtype=torch.int64)
    children: dict[tuple[int, ...], int] = {}
    for level, ranges in enumerate(levels):
        for start, end in ranges:
            if not 0 <= start < end <= length or bool(steps[level, start:end].any()):
                raise UsageError(
                    f"Ranges of level {level} must be apart and satisfy 0 <= start < end <= {length}, but one is "
                    f"({start}, {end})."
                )
            if bool((steps[:level, start:end] != steps[:level, start, None]).any()):
                raise UsageError(
                    f"Ranges of level {level} must each lie inside one range of the level above or outside of all, but "
                    f"({start}, {end}) crosses a border. Cut it there."
                )
            parent = tuple(step for step in steps[:level, start].tolist() if step)
            children[parent] = children.get(parent, 0) + 1
            steps[level, start:end] = children[parent]
    return steps

"""Right-to-left scripts: positions follow the reading order, and text is stored in it.

Unicode text is stored in *logical* order, the order in which it is read and typed; the bidirectional algorithm (UAX #9)
turns lines around for display alone. Position 0 of an Arabic, Hebrew or Persian text is therefore its first word, as in
English, and numbers and Latin words inside it stand where they are read. Mirroring the positions would make a model
read such texts from their end, put every multilingual checkpoint off, and break mixed lines. So nothing is mirrored.

The exception is text that was extracted in *visual* order, as it lies on the page from left to right: some PDF
extractors, OCR, and old files in ISO-8859-8. It is best put in order by its reader. Where that is impossible,
`logical_positions(..., visual_order=True)` gives each token the position of the place where it is read.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position.limits import check_integers

__all__ = ["logical_positions"]

_DEEPEST = 126  # max_depth of UAX #9, BD2, and one for what is implicit in it


def logical_positions(
    positions: Tensor, levels: Tensor | None = None, lines: Tensor | None = None, visual_order: bool = False
) -> Tensor:
    """The reading order of tokens that may be stored in visual order.

    Args:
        positions: int64 (N, L), counted along the stored tokens.
        levels: int64 (N, L), embedding levels of UAX #9: 0 = left to right, 1 = right to left, 2 = left to right inside
            of that (numbers and Latin words in a Hebrew line). Only for visual order.
        lines: int64 (N, L), the number of each token's line, since lines are turned around one by one; None = one line
            a row. Only for visual order.
        visual_order: whether the text is stored as it looks on the page. False, as all proper Unicode text, returns
            `positions` as they are, whatever the script.

    Returns:
        int64 (N, L): runs of level 1 and more are turned around line by line, then the runs of level 2 and more inside
        them, and so on: rule L2 of the algorithm, backwards.

    Raises:
        UsageError: not integers, not of one shape, levels below 0 or past 126 (the deepest of UAX #9), or text in
            visual order without levels.
    """
    check_integers(positions, "positions")
    for name, tensor in (("levels", levels), ("lines", lines)):
        if tensor is not None:
            check_integers(tensor, name, positions.shape)
    if not visual_order:
        return positions
    if levels is None:
        raise UsageError("`levels` must be given for text in visual order: which tokens run from right to left.")
    if levels.numel() == 0:
        return positions
    lowest, highest = (int(end) for end in levels.aminmax())
    if lowest < 0 or highest > _DEEPEST:
        raise UsageError(f"`levels` must be in [0, {_DEEPEST}], but reach from {lowest} to {highest} instead.")
    lines = torch.zeros_like(positions) if lines is None else lines
    for level in range(1, highest + 1):
        positions = _turn_runs(positions, levels >= level, lines)
    return positions


def _turn_runs(positions: Tensor, inside: Tensor, lines: Tensor) -> Tensor:
    """Positions with every run of neighbours that are `inside` and on one line turned around."""
    place = torch.arange(positions.shape[-1], device=positions.device).expand_as(positions)
    new = torch.ones_like(inside)
    new[..., 1:] = (inside[..., 1:] != inside[..., :-1]) | (lines[..., 1:] != lines[..., :-1])
    last = torch.ones_like(inside)
    last[..., :-1] = new[..., 1:]
    first_place = torch.where(new, place, 0).cummax(-1).values
    last_place = torch.where(last, place, positions.shape[-1]).flip(-1).cummin(-1).values.flip(-1)
    turned = positions.gather(-1, first_place) + positions.gather(-1, last_place) - positions
    return torch.where(inside, turned, positions)

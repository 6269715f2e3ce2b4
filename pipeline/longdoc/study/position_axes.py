"""What a position encoding says along further axes: rows and columns, sections and paragraphs, languages.

Which axes are read is found by trying, so that a new kind needs no word here.

Shape letters: S steps along an axis, E width of the embeddings, Dh width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from longdoc.errors import UsageError
from longdoc.nn.position import Geometry, PositionEncoding, stack_axes
from longdoc.study.position_health import not_finite
from longdoc.study.position_moments import Moments, moments_of

__all__ = ["AxisStudy", "GridStudy", "axis_faults", "axis_notes", "study_axes", "study_grid"]

_STEPS = 64
_MOST_AXES = 16
_GRID = 17  # odd: it has a middle


@dataclass(frozen=True)
class AxisStudy:
    """What one further axis changes while the reading order stays where it is.

    Attributes:
        axis: its number in (A, 1|N, L) positions.
        name: what documents have there, or `axis 2`.
        moments: what is said at step 0, 1 ... of the axis, all else being equal.
    """

    axis: int
    name: str
    moments: Moments

    @property
    def title(self) -> str:
        """`section (axis 1)`, or `axis 1` alone."""
        own = f"axis {self.axis}"
        return own if self.name == own else f"{self.name} ({own})"

    @property
    def changed(self) -> Tensor | None:
        """float64 (S, E): what each step adds beyond step 0, without the steps at the end that repeat the last one.

        None where nothing changes.
        """
        if self.moments.added is None:
            return None
        difference = self.moments.added - self.moments.added[:1]
        if not bool((difference != 0).any()):
            return None
        moving = (difference[1:] != difference[:-1]).any(-1).nonzero()[:, 0]
        return difference[: int(moving[-1]) + 2]


@dataclass(frozen=True)
class GridStudy:
    """How much each cell of two axes resembles the cell in the middle.

    Attributes:
        rows, columns: names of the axes.
        similarity: float64 (S, S), the cosine of what is added; or, of kinds that turn, the product of the query in the
            middle and the key of each cell, over Dh.
        of: which of the two.
    """

    rows: str
    columns: str
    similarity: Tensor
    of: str


def study_axes(encoding: PositionEncoding, geometry: Geometry) -> list[AxisStudy]:
    """Each further axis that the encoding names or heeds, in order."""
    steps = torch.arange(max(_STEPS, len(encoding.languages) + 1))
    found = []
    for axis in range(1, _axes_needed(encoding, geometry)):
        moments = moments_of(encoding, geometry, _along(encoding, geometry, {axis: steps}))
        name = encoding.further_axes.get(axis)
        if name is not None or _varies(moments):
            found.append(AxisStudy(axis, name or f"axis {axis}", moments))
    return found


def study_grid(encoding: PositionEncoding, geometry: Geometry, axes: list[AxisStudy]) -> GridStudy | None:
    """The grid of the first two axes that change something; None where there are no two."""
    heeded = [each for each in axes if _varies(each.moments)]
    if len(heeded) < 2:
        return None
    rows, columns = heeded[:2]
    step = torch.arange(_GRID)
    cells = {rows.axis: step.repeat_interleave(_GRID), columns.axis: step.repeat(_GRID)}
    moments = moments_of(encoding, geometry, _along(encoding, geometry, cells))
    middle = _GRID * _GRID // 2
    if moments.added is not None:
        similarity = torch.cosine_similarity(moments.added[middle][None], moments.added, dim=-1)
        of = "similarity of what is added"
    elif moments.query is not None and moments.key is not None:
        similarity = moments.key @ moments.query[middle] / moments.query.shape[1]
        of = "query-key product"
    else:
        return None
    return GridStudy(rows.name, columns.name, similarity.view(_GRID, _GRID), of)


def axis_faults(study: AxisStudy) -> list[str]:
    """NaN and infinity along the axis."""
    faults = [
        fault
        for name, values in study.moments.rows.items()
        if (fault := not_finite(f"{name} along {study.title}", values, "step")) is not None
    ]
    for name, spoken in (
        ("the bias of the scores", study.moments.bias),
        ("what is added to the values", study.moments.values),
    ):
        if spoken is not None and not bool(torch.isfinite(spoken).all()):
            faults.append(f"{name} along {study.title} holds NaN or infinity")
    return faults


def axis_notes(study: AxisStudy) -> list[str]:
    """Said of an axis that is named but changes nothing yet."""
    if _varies(study.moments):
        return []
    return [f"{study.title} changes nothing, as trained kinds that start at 0 do not"]


def _axes_needed(encoding: PositionEncoding, geometry: Geometry) -> int:
    """The fewest axes that positions may have, beside the reading order alone, and two more than are named."""
    named = max(encoding.further_axes, default=0)
    for axes in range(2, _MOST_AXES):
        try:
            moments_of(encoding, geometry, torch.zeros(axes, 1, 1, dtype=torch.int64))
        except UsageError:
            continue
        return max(axes, named + 1)
    return named + 1


def _along(encoding: PositionEncoding, geometry: Geometry, steps: dict[int, Tensor]) -> Tensor:
    """(A, 1, S): the given axes, zeros elsewhere; the reading order stands at 1, where sines are not 0."""
    limit = encoding.max_tokens
    first = next(iter(steps.values()))
    order = torch.full_like(first, 1 if limit is None or limit > 1 else 0)[None]
    needed = max(_axes_needed(encoding, geometry), max(steps) + 1)
    return stack_axes(order, *(steps.get(axis, torch.zeros_like(first))[None] for axis in range(1, needed)))


def _varies(moments: Moments) -> bool:
    """Whether anything differs from step to step."""
    rows = [*moments.rows.values(), *([] if moments.values is None else [moments.values])]
    if any(not _alike(values, values[:1]) for values in rows):
        return True
    return moments.bias is not None and not _alike(moments.bias, moments.bias[:, :1, :1])


def _alike(values: Tensor, first: Tensor) -> bool:
    """Within the round-off of float32; NaN is like NaN."""
    return bool(torch.isclose(values, first.expand_as(values), rtol=1e-5, atol=1e-7, equal_nan=True).all())

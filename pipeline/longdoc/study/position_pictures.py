"""Pictures of position encodings: a panel for each thing that one does, along the reading order and further axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import torch
from torch import Tensor

from longdoc.errors import counted
from longdoc.study.pictures import pyplot, save_figure
from longdoc.study.position_axes import AxisStudy, GridStudy
from longdoc.study.positions import PositionStudy

__all__ = ["draw_positions"]

_DIVERGING = "PuOr"  # purple and orange: told apart with any kind of colour vision
_BAD = "#009E73"  # Okabe and Ito's green: in neither colour map
_LINES = ("#0072B2", "#D55E00", "#000000", "#CC79A7")  # Okabe and Ito, dark enough for thin lines
_STYLES = ("-", "--", ":", "-.")
_MOST_LINES = 8
_MOST_ACROSS = 4

Panel = Callable[[Any], None]


def draw_positions(study: PositionStudy, path: Path) -> None:
    """One panel for each thing that the encoding does: adds, resembles, turns, agrees, biases, speaks to values.

    Further axes have panels of their own, and two of them a grid. Green is what is NaN or infinite.

    Raises:
        UsageError: the path is neither .png nor .svg, or matplotlib is not installed.
    """
    plt = pyplot(path)
    panels = [*_panels(study), *(panel for axis in study.axes for panel in _axis_panels(axis))]
    if study.grid is not None:
        panels.append(_grid(study.grid))
    across = min(_MOST_ACROSS, max(1, len(panels)))
    down = max(1, -(-len(panels) // across))
    said = [f"{study.kind}, {counted(study.length, 'position')}, width {study.width}, {counted(study.heads, 'head')}"]
    said[0] += f", {study.dtype}: {'healthy' if not study.verdict else counted(len(study.verdict), 'finding')}"
    said += [*study.verdict, *study.notes]
    title = "\n".join(fill(sentence, 62 * across) for sentence in said)
    height = 4.2 * down + 0.2 * title.count("\n")
    figure, axes = plt.subplots(down, across, figsize=(5.2 * across, height), layout="constrained", squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis, panel in zip(axes.flat, panels, strict=False):
        panel(axis)
    if not panels:
        silent = "nothing is added, turned or biased"
        axes[0][0].text(0.5, 0.5, silent if study.length > 1 else f"{silent} at position 0", ha="center")
    figure.suptitle(title, fontsize=10)
    save_figure(plt, figure, path)


def _panels(study: PositionStudy) -> list[Panel]:
    away, both = range(study.length), range(1 - study.length, study.length)
    found: list[Panel] = []
    if study.added is not None:
        found.append(_heat(study.added, "added to embeddings", "position"))
    if study.similarity is not None and study.length > 1:
        found.append(_lines(study.similarity[None], "similarity to position 0", away, "distance", "cosine"))
    turned_alike = study.turned is not None and study.turned_key is not None and _same(study.turned, study.turned_key)
    if study.turned is not None:
        what = "a query and a key of ones, turned alike" if turned_alike else "a query of ones, turned"
        found.append(_heat(study.turned, what, "position"))
    if study.turned_key is not None and not turned_alike:
        found.append(_heat(study.turned_key, "a key of ones, turned", "position"))
    if study.agreement is not None and study.length > 1:
        title = "product of the query at 0 and the keys"
        found.append(_lines(study.agreement[None], title, away, "distance", "product / head width"))
    bias = study.bias_by_distance
    if bias is not None and study.length > 1:
        found.append(_head_lines(bias, "bias of the scores", both, "distance (key minus query)"))
    if study.values is not None:
        found.append(_heat(study.values, "added to the values", "distance (key minus query)", both))
    return found


def _axis_panels(study: AxisStudy) -> list[Panel]:
    said, name = study.moments, study.title
    found: list[Panel] = []
    if (changed := study.changed) is not None:
        found.append(_heat(changed, f"what {name} adds beyond step 0", f"step of {study.name}"))
    for what, rows in (("a query", said.query), ("a key", said.key)):
        unlike = said.query is None or said.key is None or not _same(said.query, said.key)
        if rows is not None and bool((rows != rows[:1]).any()) and (what == "a query" or unlike):
            found.append(_heat(rows, f"{what} of ones, turned by {name}", f"step of {study.name}"))
    return found


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool(torch.equal(one.nan_to_num(7.25), other.nan_to_num(7.25)))


def _finite(values: Tensor) -> Tensor:
    return values.double().where(torch.isfinite(values), torch.nan)


def _heat(values: Tensor, title: str, rows: str, numbers: range | None = None) -> Panel:
    def draw(axis: Any) -> None:
        image = _image(axis, values, title, numbers)
        axis.set_xlabel("component")
        axis.set_ylabel(rows)
        axis.figure.colorbar(image, ax=axis, shrink=0.85, label=_unit("value", values))

    return draw


def _image(axis: Any, values: Tensor, title: str, numbers: range | None) -> Any:
    from matplotlib import colormaps

    shown = _finite(values)
    finite = shown[torch.isfinite(shown)]
    bound = float(finite.abs().max()) if bool(finite.any()) else 1.0
    extent = None
    if numbers is not None:  # rows are counted from where they begin, not from 0
        extent = (-0.5, values.shape[1] - 0.5, numbers[-1] + 0.5, numbers[0] - 0.5)
    colours = colormaps[_DIVERGING].with_extremes(bad=_BAD)
    image = axis.imshow(
        shown.numpy(), aspect="auto", cmap=colours, vmin=-bound, vmax=bound, extent=extent, interpolation="nearest"
    )
    _whole_ticks(axis)
    axis.set_title(title, fontsize=9)
    return image


def _whole_ticks(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _unit(name: str, values: Tensor) -> str:
    return name if bool(torch.isfinite(values).all()) else f"{name} (green: NaN or infinite)"


def _lines(
    values: Tensor, title: str, xs: Sequence[int], across: str, unit: str, names: Sequence[str] = ("",)
) -> Panel:
    """One curve a row of `values` (C, len(xs)); where one is NaN or infinite there are crosses on the bottom line."""

    def draw(axis: Any) -> None:
        shown = _finite(values)
        for number, (row, name) in enumerate(zip(shown, names, strict=True)):
            style, colour = _STYLES[number % len(_STYLES)], _LINES[(number + number // 4) % len(_LINES)]
            axis.plot(xs, row.numpy(), style, color=colour, label=name, linewidth=1.4)
        bad = (~torch.isfinite(values)).any(0).nonzero()[:, 0].tolist()
        if bad:
            places = [xs[place] for place in bad]
            ground = axis.get_xaxis_transform()
            axis.plot(places, [0.02] * len(bad), "x", color=_BAD, transform=ground, label="NaN or infinite", zorder=6)
            axis.set_xlim(xs[0] - 0.5, xs[-1] + 0.5)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(across)
        axis.set_ylabel(unit)
        if len(names) > 1 or names[0] or bad:
            axis.legend(fontsize=7, ncols=2)

    return draw


def _head_lines(bias: Tensor, title: str, xs: Sequence[int], across: str) -> Panel:
    """Heads that agree share a curve; of more curves than can be told apart some are drawn, evenly spread."""
    groups: list[list[int]] = []
    for head in range(len(bias)):
        group = next((each for each in groups if _same(bias[each[0]], bias[head])), None)
        if group is None:
            groups.append([head])
        else:
            group.append(head)
    drawn = groups
    if len(groups) > _MOST_LINES:
        drawn = [groups[round(n * (len(groups) - 1) / (_MOST_LINES - 1))] for n in range(_MOST_LINES)]
        title = f"{title}, {_MOST_LINES} of {counted(len(bias), 'head')} drawn"
    return _lines(
        bias[[group[0] for group in drawn]], title, xs, across, "added to the score", list(map(_heads, drawn))
    )


def _heads(group: list[int]) -> str:
    if len(group) == 1:
        return f"head {group[0]}"
    run = group == list(range(group[0], group[-1] + 1))
    return f"heads {group[0]} to {group[-1]}" if run else f"heads {', '.join(map(str, group))}"


def _grid(study: GridStudy) -> Panel:
    def draw(axis: Any) -> None:
        from matplotlib import colormaps

        middle = len(study.similarity) // 2
        colours = colormaps["cividis"].with_extremes(bad=_BAD)  # light = alike
        image = axis.imshow(_finite(study.similarity).numpy(), cmap=colours, interpolation="nearest")
        axis.set_title(f"{study.of}: each cell and the middle one (x)", fontsize=9)
        axis.plot([middle], [middle], "x", color="black")
        _whole_ticks(axis)
        axis.set_xlabel(study.columns)
        axis.set_ylabel(study.rows)
        axis.figure.colorbar(image, ax=axis, shrink=0.85, label=_unit(study.of, study.similarity))

    return draw

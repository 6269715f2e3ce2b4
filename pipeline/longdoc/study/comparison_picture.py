"""A comparison of strategies as a figure: the measure that decides with its interval, and what reading cost."""

from __future__ import annotations

from pathlib import Path

from longdoc.study.comparison import Comparison
from longdoc.study.pictures import pyplot, save_figure

__all__ = ["draw_comparison"]

_COLOURS = {"all": "#0072B2", "head": "#E69F00", "tail": "#E69F00", "head_tail": "#E69F00"}  # Okabe and Ito
_MARKERS = {"all": "o", "head": "s", "tail": "s", "head_tail": "s"}


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Strategies from top to bottom; circles read all of a document, squares a part.

    Args:
        comparison: to draw.
        path: .png or .svg.

    Raises:
        UsageError: another suffix, or matplotlib is not installed.
    """
    plt = pyplot(path)
    entries, main = comparison.entries, comparison.task.automatic
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 1.2 + 0.34 * len(entries)), layout="constrained", sharey=True, width_ratios=(3, 1)
    )
    for place, entry in enumerate(entries):
        value, ends = entry.metrics[main], entry.metrics.get("intervals", {}).get(main)
        colour = _COLOURS[entry.reads]
        if ends:
            left.plot(ends, [place, place], color=colour, linewidth=1.6)
        left.plot([value], [place], _MARKERS[entry.reads], color=colour, markersize=6)
        right.barh(place, entry.tokens, color=colour, height=0.6)
    left.set_yticks(range(len(entries)), [entry.name for entry in entries])
    left.invert_yaxis()
    left.set_xlabel(f"{main.replace('_', ' ')} (95 % interval)")
    left.set_title("circle: reads all; square: reads a part", fontsize=9)
    left.grid(axis="x", linewidth=0.4)
    right.set_xlabel("tokens computed")
    save_figure(plt, figure, path)

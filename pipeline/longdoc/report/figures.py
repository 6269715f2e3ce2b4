"""Figures inside a page: SVG that takes its colours from the page's style sheet, with a description for screen readers.

Every line differs in its dashes too, so that no figure depends on colours. Nothing here needs a drawing library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from longdoc.report.findings import Group, ThresholdRow
from longdoc.report.inert import shown

__all__ = ["evidence_figure", "groups_figure", "interval_figure", "reliability_figure", "thresholds_figure"]


def groups_figure(groups: Sequence[Group], title: str, below: str, top: float = 1.0) -> Markup:
    """Means of groups with their intervals, side by side.

    Args:
        title: says what is seen, for those who do not see it.
        below: what the groups differ in.
        top: the end of the scale, which begins at 0.
    """
    left, right, height, width = 44, 12, 200, 560
    step = (width - left - right) / max(1, len(groups))
    parts = _scale(left, width - right, height, top)
    for number, group in enumerate(groups):
        x = left + step * (number + 0.5)
        parts.append(_text(x, height + 34, group.name, "middle"))
        parts.append(_text(x, height + 50, f"n = {group.items}", "middle", "faint"))
        if group.mean is None:
            continue
        if group.low is not None and group.high is not None:
            low, high = (24 + (height - 24) * (1 - min(1.0, end / top)) for end in (group.low, group.high))
            parts.append(
                f'<path class="whisker" d="M{x:.1f} {high:.1f}V{low:.1f}M{x - 5:.1f} {high:.1f}h10M{x - 5:.1f} '
                f'{low:.1f}h10"/>'
            )
        y = 24 + (height - 24) * (1 - min(1.0, group.mean / top))
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(_text(x + 9, y + 4, f"{group.mean:.2f}"))
    parts.append(_text((left + width) / 2, height + 72, below, "middle", "faint"))
    return _svg(width, height + 84, title, parts)


def thresholds_figure(rows: Sequence[ThresholdRow], title: str) -> Markup:
    """Precision, recall and F1 over the threshold."""
    left, width, height = 44, 560, 220
    side, tall = width - left - 110, height - 24
    parts = _scale(left, left + side, height, 1.0)
    for tick in range(0, 11, 2):
        parts.append(_text(left + side * tick / 10, height + 18, f"{tick / 10:.1f}", "middle", "faint"))
    ends: list[tuple[float, str, str]] = []
    for name, style in (("precision", "solid"), ("recall", "dashed"), ("F1", "dotted")):
        points = [(row.threshold, getattr(row, name.lower())) for row in rows]
        drawn = [(left + side * x, 24 + tall * (1 - y)) for x, y in points if y is not None]
        if drawn:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
            parts.append(f'<path class="line {style}" d="M{path}"/>')
            ends.append((drawn[-1][1], name, style))
    for at, (_, name, style) in zip(_apart([y for y, *_ in sorted(ends)], height), sorted(ends), strict=True):
        parts.append(f'<path class="line {style}" d="M{left + side + 8} {at:.1f}h26"/>')
        parts.append(_text(left + side + 40, at + 4, name))
    parts.append(_text(left + side / 2, height + 38, "least probability that is given", "middle", "faint"))
    return _svg(width, height + 50, title, parts)


def _apart(heights: Sequence[float], lowest: float, gap: float = 16) -> list[float]:
    """Rising heights of names at the ends of lines, moved so that no two touch and none lies below the axis."""
    placed: list[float] = []
    for number, height in enumerate(reversed(heights)):
        placed.append(min(height, placed[-1] - gap if number else lowest))
    return placed[::-1]


def reliability_figure(bins: Sequence[Mapping[str, Any]], title: str) -> Markup:
    """Share of right answers over mean confidence; on the diagonal one can take a score at its word.

    Args:
        bins: `calibration` of the metrics.
    """
    left, side = 44, 300
    largest = max(row["pairs"] for row in bins)
    parts = _scale(left, left + side, side + 24, 1.0)
    parts.append(f'<path class="diagonal" d="M{left} {side + 24}L{left + side} 24"/>')
    for tick in range(0, 11, 2):
        parts.append(_text(left + side * tick / 10, side + 42, f"{tick / 10:.1f}", "middle", "faint"))
    for row in bins:
        x, y = left + side * row["confidence"], 24 + side * (1 - row["accuracy"])
        radius = 3 + 9 * (row["pairs"] / largest) ** 0.5
        too_sure = " over" if row["confidence"] > row["accuracy"] else ""
        parts.append(f'<circle class="dot{too_sure}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
    parts.append(_text(left + side / 2, side + 62, "mean confidence", "middle", "faint"))
    return _svg(left + side + 20, side + 74, title, parts)


def interval_figure(value: float | None, interval: Sequence[float] | None) -> Markup:
    """A small bar with its interval, for the cell of a table that has the numbers in words beside it."""
    if value is None:
        return Markup("")
    parts = [
        '<rect class="track" x="0" y="5" width="100" height="8"/>',
        f'<rect class="bar" x="0" y="5" width="{100 * value:.1f}" height="8"/>',
    ]
    if interval:
        low, high = (100 * end for end in interval)
        parts.append(f'<path class="whisker" d="M{low:.1f} 9H{high:.1f}M{low:.1f} 4v10M{high:.1f} 4v10"/>')
    body = "".join(parts)
    return Markup(f'<svg class="cell" viewBox="-1 0 102 18" width="104" height="18" aria-hidden="true">{body}</svg>')


def evidence_figure(strip: Sequence[tuple[float, float, float]], title: str) -> Markup:
    """The whole document as a strip, from its beginning at the left: above the line what speaks for the answer, below
    what speaks against it.
    """
    strongest = max((abs(weight) for _, _, weight in strip), default=0.0)
    parts = ['<rect class="track" x="0" y="0" width="300" height="32"/>', '<path class="axis" d="M0 16H300"/>']
    for start, end, weight in strip:
        tall = 15 * abs(weight) / strongest if strongest else 0.0
        if tall < 0.5:
            continue
        y = 16 - tall if weight > 0 else 16
        parts.append(
            f'<rect class="{"for" if weight > 0 else "against"}" x="{300 * start:.1f}" y="{y:.1f}" '
            f'width="{max(1.5, 300 * (end - start)):.1f}" height="{tall:.1f}"/>'
        )
    return _svg(300, 32, title, parts)


def _scale(left: float, right: float, bottom: float, top: float) -> list[str]:
    parts = []
    for tick in range(6):
        y = bottom - (bottom - 24) * tick / 5
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(_text(left - 6, y + 4, f"{top * tick / 5:.3g}", "end", "faint"))
    return parts


def _text(x: float, y: float, words: str, anchor: str = "start", style: str = "ink") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown(words)}</text>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> Markup:
    return Markup(
        f'<svg role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'aria-label="{shown(title)}">{"".join(parts)}</svg>'
    )

"""`curves.svg`: loss, score and learning rate of a run over its steps, drawn from `metrics.jsonl`. Numbers only.

A picture that needs no library to draw and no network to look at; written anew with each epoch, whole or not at all.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from longdoc.errors import CannotWriteError
from longdoc.files import write_text

__all__ = ["CURVES", "curves_picture", "read_metrics", "write_curves"]

CURVES = "curves.svg"
MOST_POINTS = 400
"""Of more, neighbours are averaged."""

_LEFT, _WIDTH, _HEIGHT, _GAP = 70, 560, 130, 66
_INK, _FAINT, _LINE = "#1c1f23", "#596069", "#d4d8dd"
_TRAINED, _MEASURED = "#0b5cad", "#a8500a"

_log = logging.getLogger(__name__)

Points = list[tuple[float, float]]


def write_curves(folder: Path, score: str) -> None:
    """Draw what `metrics.jsonl` in a run's folder holds so far. A full disk or a damaged file costs the picture alone.

    Args:
        score: the measure of the validation lines to draw beside their loss.
    """
    try:
        write_text(folder / CURVES, curves_picture(read_metrics(folder / "metrics.jsonl"), score))
    except (OSError, ValueError, KeyError, CannotWriteError) as error:
        _log.warning("no %s: %s", CURVES, type(error).__name__)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a run's `metrics.jsonl`."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def curves_picture(lines: Iterable[Mapping[str, Any]], score: str) -> str:
    """An SVG of three panels: loss (in training, and on the validation documents), score, learning rate.

    Args:
        lines: of `metrics.jsonl`.
        score: a measure of the validation lines. Without such lines its panel stays away.
    """
    logged = list(lines)
    trained = [line for line in logged if "split" not in line]
    measured = [line for line in logged if line.get("split") == "validation"]
    panels: list[tuple[str, list[tuple[str, Points]]]] = [
        ("loss", [("training", _points(trained, "loss")), ("validation", _points(measured, "loss"))]),
        (score.replace("_", " "), [("validation", _points(measured, score))] if score != "loss" else []),
        ("learning rate", [("training", _points(trained, "learning_rate"))]),
    ]
    shown = [(name, kept) for name, series in panels if (kept := [each for each in series if each[1]])]
    last = max((point[0] for _, series in shown for _, points in series for point in points), default=1.0)
    parts = [part for place, panel in enumerate(shown) for part in _panel(*panel, 34 + place * (_HEIGHT + _GAP), last)]
    height = 34 + len(shown) * (_HEIGHT + _GAP)
    about = escape("; ".join(_in_words(*panel) for panel in shown) or "nothing was logged yet")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="760" height="{height}" viewBox="0 0 760 {height}" '
        f'font-family="sans-serif" font-size="12"><title>Curves of a training run</title><desc>{about}</desc>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _points(lines: Sequence[Mapping[str, Any]], name: str) -> Points:
    """Step and value of the lines that have a finite one, at most `MOST_POINTS`."""
    points = [(float(line["step"]), float(line[name])) for line in lines if _is_finite(line.get(name))]
    size = -(-len(points) // MOST_POINTS) or 1
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[-1][0], math.fsum(value for _, value in group) / len(group)) for group in groups]


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _panel(name: str, series: Sequence[tuple[str, Points]], top: float, last: float) -> list[str]:
    values = [value for _, points in series for _, value in points]
    low, high = min(values), max(values)
    if high == low:
        low, high = low - abs(low or 1) / 2, high + abs(high or 1) / 2

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + _WIDTH * point[0] / last, top + _HEIGHT * (1 - (point[1] - low) / (high - low))

    parts = [_text(_LEFT, top - 10, name, "start", _INK)]
    for tick in range(3):
        y = top + _HEIGHT * tick / 2
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{_WIDTH}" stroke="{_LINE}"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{high - (high - low) * tick / 2:.3g}", "end"))
    for tick in range(5):
        parts.append(_text(_LEFT + _WIDTH * tick / 4, top + _HEIGHT + 18, f"{last * tick / 4:.0f}", "middle"))
    parts.append(_text(_LEFT + _WIDTH / 2, top + _HEIGHT + 34, "step", "middle"))
    floor = -math.inf
    for what, points in sorted(series, key=lambda each: place(each[1][-1])[1]):
        colour, dashes = (_TRAINED, "") if what == "training" else (_MEASURED, ' stroke-dasharray="6 4"')
        placed = [place(point) for point in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        if what != "training":  # few points: each was measured
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed]
        floor = max(placed[-1][1] + 4, floor + 15)  # names at the ends of their lines, apart from one another
        parts.append(_text(_LEFT + _WIDTH + 10, floor, f"{what} {points[-1][1]:.3g}", "start", colour))
    return parts


def _text(x: float, y: float, words: str, anchor: str, colour: str = _FAINT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def _in_words(name: str, series: Sequence[tuple[str, Points]]) -> str:
    said = [f"{what} from {points[0][1]:.4g} to {points[-1][1]:.4g}" for what, points in series]
    return f"{name}: {', '.join(said)}"

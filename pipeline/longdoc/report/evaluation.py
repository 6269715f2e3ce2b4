"""An evaluation for people: a table of plain text, and pictures as SVG that need no library to draw."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from longdoc.errors import counted

__all__ = ["evaluation_plots", "metrics_table"]

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLUMNS = ("precision_at_1", "precision", "recall", "f1", "average_precision", "exact_f1", "partial_f1", "type_f1")
_INK, _FAINT, _BLUE, _ORANGE = "#1a1a1a", "#d5d5d5", "#0b5cad", "#b45309"


def metrics_table(metrics: Mapping[str, Any]) -> str:
    """The measures with their intervals, one line a label, and the choices behind them.

    Args:
        metrics: that `longdoc evaluate` writes.
    """
    lines = [f"{counted(metrics['documents'], 'document')}, {metrics['unanswered']} without an answer"]
    for name, value in metrics.items():
        if isinstance(value, float) or value is None:
            ends = metrics["intervals"].get(name)
            none = "  [too few]" if name in metrics["intervals"] else ""
            interval = f"  [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else none
            lines.append(f"  {name:<26}  {_number(value):>6}{interval}")
    if abstention := metrics.get("abstention"):
        lines.append("  abstention, where these measures take the answer that was held back:")
        for name, value in abstention.items():
            if isinstance(value, float) or value is None:
                lines.append(f"    {name:<24}  {_number(value):>6}")
    if rows := metrics.get("per_label") or metrics.get("by_label"):
        width = max(len("label"), *(len(row["label"]) for row in rows))
        columns = [column for column in _COLUMNS if column in rows[0]]
        lines.append(f"  {'label':<{width}}  support  " + "  ".join(columns))
        for row in rows:
            cells = "  ".join(_number(row[column]).rjust(len(column)) for column in columns)
            lines.append(f"  {row['label']:<{width}}  {row['support']:>7}  {cells}")
    lines += [f"{name}: {choice}" for name, choice in metrics["choices"].items()]
    return "\n".join(lines) + "\n"


def evaluation_plots(metrics: Mapping[str, Any]) -> dict[str, str]:
    """File name -> SVG: F1 of each label, calibration, and in single-label tasks the confusion of labels.

    Args:
        metrics: that `longdoc evaluate` writes. A regression has no pictures.
    """
    plots: dict[str, str] = {}
    if rows := metrics.get("per_label"):
        plots["labels.svg"] = _label_bars(rows, "span" if "gold_spans" in metrics else "document")
    if bins := metrics.get("calibration"):
        plots["calibration.svg"] = _reliability(bins, metrics["expected_calibration_error"])
    if table := metrics.get("confusion"):
        plots["confusion.svg"] = _confusion(table)
    return plots


def _number(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # plus 0.0: no -0.000


def _label_bars(rows: Sequence[Mapping[str, Any]], counts: str) -> str:
    parts: list[str] = []
    left, scale = _margin([row["label"] for row in rows]), 320
    for number, row in enumerate(sorted(rows, key=lambda row: -row["support"])):
        y = 40 + 22 * number
        value = row["f1"] or 0.0
        parts += [
            _text(left - 8, y + 12, row["label"], anchor="end"),
            _box(left, y, scale, 14, _FAINT, opacity=0.5),
            _box(left, y, scale * value, 14, _BLUE),
            _text(left + scale + 8, y + 12, f"{_number(row['f1'])}, {counted(row['support'], counts)}"),
        ]
    return _svg(left + scale + 150, 60 + 22 * len(rows), f"F1 and number of {counts}s of each label", parts)


def _reliability(bins: Sequence[Mapping[str, Any]], error: float) -> str:
    """Accuracy over mean confidence; the diagonal is perfect, the area of a dot is the size of its bin."""
    left, top, side = 60, 50, 320
    largest = max(row["pairs"] for row in bins)
    parts = [
        _box(left, top, side, side, "none", stroke=_FAINT),
        f'<path d="M{left} {top + side}L{left + side} {top}" stroke="{_FAINT}"/>',
        _text(left, top + side + 18, "confidence 0"),
        _text(left + side, top + side + 18, "1", anchor="end"),
        _text(left - 6, top + side, "0", anchor="end"),
        _text(left - 6, top + 10, "1", anchor="end"),
    ]
    for row in bins:
        x, y = left + side * row["confidence"], top + side * (1 - row["accuracy"])
        radius = 2 + 10 * (row["pairs"] / largest) ** 0.5
        colour = _ORANGE if row["confidence"] > row["accuracy"] else _BLUE
        note = escape(
            f"{counted(row['pairs'], 'pair')}: confidence {row['confidence']:.3f}, accuracy {row['accuracy']:.3f}"
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.7">'
            f"<title>{note}</title></circle>"
        )
    title = f"Accuracy over confidence; expected calibration error {error:.3f}; orange = too sure"
    return _svg(520, top + side + 40, title, parts)


def _confusion(table: Mapping[str, Any]) -> str:
    """Rows gold, columns predicted; shading by share of the row."""
    left, cell = _margin(table["predicted"]), 46
    top = 40 + 0.7 * left  # names of columns stand on a slope
    parts = [
        _text(left + cell * (column + 0.5), top - 8, name, slope=-40) for column, name in enumerate(table["predicted"])
    ]
    for row, (name, counts) in enumerate(zip(table["gold"], table["matrix"], strict=True)):
        y = top + cell * row
        parts.append(_text(left - 8, y + cell / 2 + 4, name, anchor="end"))
        for column, count in enumerate(counts):
            share = count / max(1, sum(counts))
            colour = _BLUE if table["predicted"][column] == name else _ORANGE
            x = left + cell * column
            parts.append(_box(x, y, cell - 2, cell - 2, colour, opacity=0.75 * share))
            if count:
                parts.append(_text(x + cell / 2, y + cell / 2 + 4, str(count), anchor="middle"))
    size = left + cell * len(table["predicted"]) + 0.7 * left, top + cell * len(table["gold"]) + 20
    return _svg(*size, "Gold (rows) and predicted (columns)", parts)


def _margin(names: Sequence[str]) -> float:
    """Room for the longest name, at about seven pixels a character."""
    return 30 + 7 * max(map(len, names))


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    shapes = "\n".join([_text(10, 22, title), *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{shapes}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", slope: int = 0) -> str:
    turn = f' transform="rotate({slope} {x:.1f} {y:.1f})"' if slope else ""
    shown = escape(_NOT_IN_XML.sub("\ufffd", words))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}"{turn}>{shown}</text>'


def _box(x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0, stroke: str = "none") -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
        f'fill-opacity="{opacity:.2f}" stroke="{stroke}"/>'
    )

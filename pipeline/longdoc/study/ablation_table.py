"""The comparison of position encodings as a table: means over seeds and their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ablation_table", "interval"]


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean over seeds and half the width of its 95 % interval (Student's t); None for one seed, which has none."""
    if len(values) < 2:
        return values[0], None
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(values), 2.0)
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def ablation_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: accuracy at the trained length, then at longer ones by way of extending; means and 95 % intervals."""
    kinds = list(dict.fromkeys(result["kind"] for result in results))
    tasks = list(dict.fromkeys(result["task"] for result in results))

    def cell(values: Sequence[float]) -> str:
        if not values:
            return "-"
        mean, half = interval(values)
        return f"{mean:.3f} +- {'-' if half is None else f'{half:.3f}'}"

    lines = ["| position | " + " | ".join(tasks) + " |", "| --- |" + " --- |" * len(tasks)]
    for kind in kinds:
        scores = [[r["accuracy"] for r in results if (r["kind"], r["task"]) == (kind, task)] for task in tasks]
        lines.append(f"| {kind} | " + " | ".join(cell(values) for values in scores) + " |")
    for task in tasks:
        mine = [r for r in results if r["task"] == task and r["longer"]]
        lengths = sorted({int(n) for r in mine for scores in r["longer"].values() for n in scores})
        if not lengths:
            continue
        lines += ["", f"{task}, tested at longer lengths:", ""]
        lines += [
            "| position | extended by | " + " | ".join(map(str, lengths)) + " |",
            "| --- | --- |" + " --- |" * len(lengths),
        ]
        for kind in kinds:
            ways = dict.fromkeys(way for r in mine if r["kind"] == kind for way in r["longer"])
            for way in ways:
                scores = [[r["longer"][way][str(n)] for r in mine if r["kind"] == kind] for n in lengths]
                lines.append(f"| {kind} | {way} | " + " | ".join(cell(values) for values in scores) + " |")
    return "\n".join(lines) + "\n"

"""The comparison of position encodings as a figure: each task at the trained length, and what is left beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longdoc.study.ablation_table import interval
from longdoc.study.pictures import pyplot, save_figure

__all__ = ["draw_ablation"]

# Okabe and Ito's colours, told apart with any kind of colour vision; markers and dashes say the same again.
_COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#999999")
_MARKERS = "osD^vPX*"
_DASHES = {"as it is": "-", "interpolate": "-", "tile": ":", "linear": "--", "dynamic": ":", "yarn": "-."}


def draw_ablation(results: Sequence[Mapping[str, Any]], path: Path, chance: Mapping[str, float] | None = None) -> None:
    """One panel with all tasks at the trained length, then one for each task that was tested at longer ones.

    Args:
        results: of `run_ablation`.
        path: .png or .svg.
        chance: accuracy of guessing by task, drawn as a line.

    Raises:
        UsageError: another suffix, or matplotlib is not installed.
    """
    plt = pyplot(path)
    kinds = list(dict.fromkeys(r["kind"] for r in results))
    tasks = list(dict.fromkeys(r["task"] for r in results))
    longer = [task for task in tasks if any(any(r["longer"].values()) for r in results if r["task"] == task)]
    looks = {kind: (_COLOURS[n % 8], _MARKERS[n % 8]) for n, kind in enumerate(kinds)}
    figure, axes = plt.subplots(
        1, 1 + len(longer), figsize=(5.2 + 5.6 * len(longer), 4.6), layout="constrained", squeeze=False
    )
    first, *others = axes[0]
    for place, kind in enumerate(kinds):
        for number, task in enumerate(tasks):
            scores = [r["accuracy"] for r in results if (r["kind"], r["task"]) == (kind, task)]
            if scores:
                mean, half = interval(scores)
                x = number + (place - (len(kinds) - 1) / 2) * 0.09
                first.errorbar(
                    x, mean, yerr=half, color=looks[kind][0], marker=looks[kind][1], capsize=2, linestyle="none",
                    markersize=5, label=kind if number == 0 else None,
                )  # fmt: skip
    for number, task in enumerate(tasks):
        if chance and task in chance:
            first.plot([number - 0.45, number + 0.45], [chance[task]] * 2, color="#555555", linewidth=0.8)
    first.set_xticks(range(len(tasks)), tasks)
    first.set_ylabel("accuracy")
    first.set_ylim(0, 1.05)
    first.set_title("at the trained length (line: guessing)", fontsize=10)
    for axis, task in zip(others, longer, strict=True):
        mine = [r for r in results if r["task"] == task]
        for kind in kinds:
            ways = dict.fromkeys(way for r in mine if r["kind"] == kind for way in r["longer"])
            for way in ways:
                rows = [r["longer"][way] for r in mine if r["kind"] == kind]
                lengths = sorted(int(length) for length in rows[0])
                means = [interval([row[str(length)] for row in rows])[0] for length in lengths]
                label = kind if way == "as it is" else f"{kind}, {way}"
                axis.plot(
                    lengths, means, _DASHES.get(way, "-"), color=looks[kind][0], marker=looks[kind][1],
                    markersize=4, linewidth=1.2, label=label,
                )  # fmt: skip
        if chance and task in chance:
            axis.axhline(chance[task], color="#555555", linewidth=0.8)
        axis.set_xscale("log", base=2)
        axis.set_xticks(lengths, [str(length) for length in lengths])
        axis.set_xlabel("tested length (tokens)")
        axis.set_ylim(0, 1.05)
        axis.set_title(f"{task}, beyond the trained length", fontsize=10)
    handles, labels = (others[-1] if others else first).get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside right upper")
    save_figure(plt, figure, path)

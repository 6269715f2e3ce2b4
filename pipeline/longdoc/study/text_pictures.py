"""Pictures of a corpus before any model has seen it: how long its documents are, and how they become chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longdoc.errors import UsageError, counted
from longdoc.study.lengths import LengthReport
from longdoc.study.pictures import pyplot, save_figure

__all__ = ["draw_chunks", "draw_lengths"]

_CORE, _SHOWN, _LINE = "#0b5cad", "#f0b060", "#b45309"  # told apart with any kind of colour vision


def draw_lengths(counts: Sequence[int], report: LengthReport, path: Path) -> None:
    """Two panels: how many documents are how long, with the chunk sizes; and what each size and overlap would cost.

    Args:
        counts: tokens of each document.
        report: of the same documents.
        path: .png or .svg.
    """
    plt = pyplot(path)
    from matplotlib.ticker import MaxNLocator

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    full = np.asarray([count for count in counts if count > 0])
    edges = np.unique(np.geomspace(1, max(2, int(full.max())) + 1, 40).astype(int))
    left.hist(full, bins=edges, color=_CORE)
    left.set_xscale("log")
    left.set_xlabel("tokens of a document")
    left.set_ylabel("documents")
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    left.margins(y=0.12)  # room for the sizes above the bars
    sizes = sorted({cost.size for cost in report.costs})
    for size in sizes:
        left.axvline(size, color=_LINE, linestyle="--", linewidth=1)
        left.text(size, 0.98, f" {size}", transform=left.get_xaxis_transform(), color=_LINE, fontsize=8, va="top")
    left.set_title(
        f"{counted(report.documents, 'document')}; {report.share_over_one_chunk:.1%} longer than one chunk of "
        f"{sizes[-1]}",
        fontsize=9,
    )
    for size, style in zip(sizes, ("-", "--", ":"), strict=False):
        costs = sorted((cost.overlap / size, cost.cost_factor) for cost in report.costs if cost.size == size)
        right.plot(*zip(*costs, strict=True), f"o{style}", color=_CORE, label=f"size {size}", linewidth=1.4)
    chosen = report.recommendation
    right.set_xlabel("overlap as a share of the size")
    right.set_ylabel("tokens encoded / tokens of the documents")
    right.set_title(f"to start with: size {chosen.size}, overlap {chosen.overlap}", fontsize=9)
    right.legend(fontsize=8)
    save_figure(plt, figure, path)


def draw_chunks(descriptions: Sequence[Mapping[str, Any]], path: Path, more: bool = False) -> None:
    """One row a chunk: the tokens that are shown to the encoder, and over them the core that it answers for.

    Ids are not drawn: documents are numbered as in the table. Chunks are counted from 1, as everywhere people read.

    Args:
        descriptions: of `describe_chunks`.
        path: .png or .svg.
        more: whether there are documents beyond these.

    Raises:
        UsageError: no document has a chunk.
    """
    rows = [
        (number, chunk)
        for number, description in enumerate(descriptions, 1)
        for chunk in description["chunks"][:_MOST_CHUNKS]
    ]
    if not rows:
        raise UsageError("a picture of chunks needs at least 1 document with text, but there is none.")
    plt = pyplot(path)
    figure, axis = plt.subplots(figsize=(9, 1.4 + 0.22 * len(rows)), layout="constrained")
    for place, (_, chunk) in enumerate(rows):
        (start, end), (core_start, core_end) = chunk["tokens"], chunk["core"]
        label_shown, label_core = ("shown", "answered for") if not place else (None, None)
        axis.barh(place, end - start, left=start, height=0.8, color=_SHOWN, label=label_shown)
        axis.barh(place, core_end - core_start, left=core_start, height=0.45, color=_CORE, label=label_core)
    names = [f"{number}: chunk {chunk['ordinal'] + 1}" for number, chunk in rows]
    axis.set_yticks(range(len(rows)), names, fontsize=7)
    axis.invert_yaxis()
    axis.set_xlabel("token of the document")
    left_out = sum(max(0, len(description["chunks"]) - _MOST_CHUNKS) for description in descriptions)
    rest = f"; {left_out} more chunks not drawn" if left_out else ""
    documents = sum(bool(description["chunks"]) for description in descriptions)
    if empty := len(descriptions) - documents:
        rest += f"; {counted(empty, 'document')} without a chunk"
    if more:
        rest += "; the documents after these are left out"
    axis.set_title(f"{counted(documents, 'document')}, {counted(len(rows), 'chunk')}{rest}", fontsize=9)
    axis.legend(fontsize=8)
    save_figure(plt, figure, path)


_MOST_CHUNKS = 60  # of one document: more rows cannot be told apart

"""Pictures of position encodings and masks, PNG or SVG, readable by colour-blind readers.

matplotlib draws them (the extra `plots`); it is imported when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from longdoc.errors import UsageError
from longdoc.files import cannot_write, check_file_output
from longdoc.study.masks import rules_in_words
from longdoc.study.positions import PositionStudy

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_picture", "draw_mask", "draw_positions", "pyplot", "save_figure"]

_DIVERGING = "PuOr"  # purple and orange: told apart with any kind of colour vision
_SEQUENTIAL = "cividis"


def draw_positions(study: PositionStudy, path: Path) -> None:
    """One panel for each thing that the encoding does: adds, resembles, turns, agrees, biases.

    Raises:
        UsageError: the path is neither .png nor .svg, or matplotlib is not installed.
    """
    panels = [panel for panel in _panels(study) if panel is not None]
    plt = pyplot(path)
    figure, axes = plt.subplots(
        1, max(1, len(panels)), figsize=(5.2 * max(1, len(panels)), 4.2), layout="constrained", squeeze=False
    )
    for axis, panel in zip(axes[0], panels, strict=False):
        panel(axis)
    if not panels:
        axes[0][0].set_axis_off()
        axes[0][0].text(0.5, 0.5, "nothing is added, turned or biased", ha="center")
    verdict = "healthy" if not study.verdict else "; ".join(study.verdict)
    figure.suptitle(f"{study.kind}, {study.length} positions: {verdict}", fontsize=10, wrap=True)
    save_figure(plt, figure, path)


def draw_mask(allowed: Tensor, rules: Sequence[str], path: Path) -> None:
    """The pairs of one row and head that may attend: queries down, keys across.

    Args:
        allowed: bool (L, L), True = may attend.
        rules: names of the rules that made it, for the title.
        path: .png or .svg.
    """
    plt = pyplot(path)
    figure, axis = plt.subplots(figsize=(5.2, 5.0), layout="constrained")
    axis.imshow(allowed.numpy(), cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
    axis.set_xlabel("key")
    axis.set_ylabel("query")
    count = int(allowed.sum())
    axis.set_title(f"{count} of {allowed.numel()} pairs (bright = may attend)", fontsize=9)
    figure.suptitle(fill(rules_in_words(rules), 60), fontsize=10)
    save_figure(plt, figure, path)


def _panels(study: PositionStudy) -> list[Callable[[Any], None] | None]:
    def lines(axis: Any, values: Tensor, title: str, xs: Sequence[int], names: Sequence[str]) -> None:
        for row, name, style in zip(values, names, ("-", "--", ":", "-.") * len(names), strict=False):
            axis.plot(xs, row.numpy(), style, label=name, linewidth=1.4)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("distance (key minus query)" if xs[0] < 0 else "distance")
        if len(names) > 1:
            axis.legend(fontsize=7, ncols=2)

    def heat(axis: Any, values: Tensor, title: str) -> None:
        bound = float(values.abs().max()) or 1.0
        image = axis.imshow(values.numpy(), aspect="auto", cmap=_DIVERGING, vmin=-bound, vmax=bound)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("dimension")
        axis.set_ylabel("position")
        axis.figure.colorbar(image, ax=axis, shrink=0.85)

    added, similarity, turned, agreement = study.added, study.similarity, study.turned, study.agreement
    bias = study.bias_by_distance
    away = range(study.length)
    both = range(1 - study.length, study.length)
    return [
        None if added is None else lambda axis: heat(axis, added, "added to embeddings"),
        None
        if similarity is None
        else lambda axis: lines(axis, similarity[None], "similarity to position 0", away, [""]),
        None if turned is None else lambda axis: heat(axis, turned, "a query of ones, turned"),
        None if agreement is None else lambda axis: lines(axis, agreement[None], "query-key product", away, [""]),
        None
        if bias is None
        else lambda axis: lines(
            axis, bias[:8], "bias of the scores", both, [f"head {n}" for n in range(min(8, len(bias)))]
        ),
    ]


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn or written, before the long part.

    Raises:
        UsageError: neither .png nor .svg, no matplotlib, or no place for the file.
        CannotWriteError: its folder takes no files.
    """
    pyplot(path)
    check_file_output(path)


def pyplot(path: Path) -> Any:
    """matplotlib's drawing functions, without a window.

    Raises:
        UsageError: the path is neither .png nor .svg, or matplotlib is not installed.
    """
    if path.suffix not in (".png", ".svg"):
        raise UsageError(f"`output` of a picture must end in .png or .svg, but ends in {path.suffix!r} instead.")
    try:
        import matplotlib
    except ImportError:
        raise UsageError("pictures need matplotlib. Install it: pip install 'longdoc[plots]'") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "longdoc"  # names inside the file do not change from run to run
    from matplotlib import pyplot

    return pyplot


def save_figure(plt: Any, figure: Any, path: Path) -> None:
    """Write and close a figure; the same figure gives the same bytes."""
    try:
        figure.savefig(path, dpi=140, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        plt.close(figure)

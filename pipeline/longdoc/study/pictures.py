"""What all pictures share, and those of masks: PNG or SVG, readable by colour-blind readers.

matplotlib draws them (the extra `plots`); it is imported when a picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from longdoc.errors import UsageError
from longdoc.files import cannot_write, check_file_output
from longdoc.study.masks import pairs_in_words, rules_in_words

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["check_picture", "draw_mask", "draw_masks", "pyplot", "save_figure"]

_MAY, _MAY_NOT = "#fee838", "#00224e"  # the ends of cividis: light and dark with any kind of colour vision
_MOST_ACROSS = 4


def draw_mask(allowed: Tensor, rules: Sequence[str], path: Path) -> None:
    """The pairs of one row and head that may attend: queries down, keys across.

    Args:
        allowed: bool (L, L), True = may attend.
        rules: names of the rules that made it, for the title.
        path: .png or .svg.
    """
    draw_masks([(rules_in_words(rules), allowed)], path)


def draw_masks(masks: Sequence[tuple[str, Tensor]], path: Path) -> None:
    """Several masks side by side, of an encoder whose layers differ.

    Args:
        masks: what each is called, and bool (L, L), True = may attend.
        path: .png or .svg.
    """
    plt = pyplot(path)
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    across = min(_MOST_ACROSS, len(masks))
    down = -(-len(masks) // across)
    figure, axes = plt.subplots(down, across, figsize=(5.2 * across, 5.4 * down), layout="constrained", squeeze=False)
    colours = ListedColormap([_MAY_NOT, _MAY])
    for axis in axes.flat[len(masks) :]:
        axis.set_axis_off()
    for axis, (name, allowed) in zip(axes.flat, masks, strict=False):
        axis.imshow(allowed.numpy(), cmap=colours, vmin=0, vmax=1, interpolation="nearest")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axis.set_xlabel("key")
        axis.set_ylabel("query")
        title = pairs_in_words(allowed)
        axis.set_title(title if len(masks) == 1 else fill(f"{name}: {title}", 60), fontsize=9)
    legend = [Patch(facecolor=_MAY, edgecolor="black", label="may attend"), Patch(facecolor=_MAY_NOT, label="may not")]
    figure.legend(handles=legend, loc="outside lower center", ncols=2, fontsize=8)
    if len(masks) == 1:
        figure.suptitle(fill(masks[0][0], 60), fontsize=10)
    save_figure(plt, figure, path)


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
    if path.suffix.lower() not in (".png", ".svg"):
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
        vectors = path.suffix.lower() == ".svg"
        figure.savefig(
            path,
            dpi=140,
            format="svg" if vectors else "png",
            metadata={"Date": None} if vectors else {"Software": None},
        )
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        plt.close(figure)

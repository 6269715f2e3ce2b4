"""Reports of many documents as a folder: `index.html` and, in `documents/`, a page each.

Pages are numbered, since ids may be private and no file names. The index comes last, so that a folder cut short lacks
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from pathlib import Path

from longdoc.errors import UsageError, counted
from longdoc.files import make_folder, unlink, write_text
from longdoc.report.html import ExplainedDocument, explanation_page
from longdoc.report.index import IndexRow, index_page, index_row
from longdoc.types import DocumentPrediction

__all__ = ["check_evaluation_folder", "check_report_folder", "write_reports"]

_OURS = {"index.html", "documents", "config.resolved.yaml"}
_OF_EVALUATIONS = {"report.html", "errors", "metrics.json", "metrics.txt", "predictions.jsonl", "config.resolved.yaml",
                   "labels.svg", "calibration.svg", "confusion.svg"}  # fmt: skip


def check_report_folder(folder: Path) -> None:
    """Refuse a folder that holds what no report is made of: it could not be told apart from ours.

    Raises:
        UsageError: such is this one.
    """
    _refuse_strangers(folder, _OURS, "report", ", or a file that ends in .html for one page")


def check_evaluation_folder(folder: Path) -> None:
    """The same for the folder of an evaluation.

    Raises:
        UsageError: it holds what no evaluation writes.
    """
    _refuse_strangers(folder, _OF_EVALUATIONS, "evaluation")


def _refuse_strangers(folder: Path, ours: Set[str], kind: str, way_out: str = "") -> None:
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    strangers = [name for name in names - ours if not (name.startswith(".") and name.endswith(".tmp"))]
    if strangers:
        raise UsageError(
            f"`output` must be a new folder, an empty one or one of an earlier {kind}, but {folder} holds "
            f"{counted(len(strangers), 'other file')}. Name another folder{way_out}."
        )


def write_reports(
    folder: Path,
    items: Iterable[ExplainedDocument],
    progress: Callable[[int, int], None] | None = None,
    left_out: Callable[[], int] = lambda: 0,
) -> list[IndexRow]:
    """Write the pages of documents one by one, then the index; what an earlier report left there goes.

    Args:
        folder: as `check_report_folder` lets pass; made where it is missing.
        items: documents with their results; each is forgotten when it is written.
        progress: told after each document how many are done, and how many of them failed.
        left_out: asked at the end how many documents a limit kept out of `items`.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk.
    """
    make_folder(folder / "documents")
    unlink(folder / "index.html")
    rows: list[IndexRow] = []
    failed = 0
    for number, item in enumerate(items, 1):
        name = f"documents/{number:06d}.html"
        answered = isinstance(item.result, DocumentPrediction)
        if answered:
            write_text(folder / name, explanation_page([item], index="../index.html"))
        failed += not answered
        rows.append(index_row(item.result, name if answered else None))
        if progress is not None:
            progress(number, failed)
    written = {row.page for row in rows}
    for path in (folder / "documents").glob("*.html"):
        if f"documents/{path.name}" not in written:
            unlink(path)
    write_text(folder / "index.html", index_page(rows, left_out=left_out()))
    return rows

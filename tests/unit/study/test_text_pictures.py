"""Pictures of lengths and chunks: what their axes and titles say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longdoc.study import text_pictures
from longdoc.study.lengths import length_report
from longdoc.study.text_pictures import draw_chunks, draw_lengths

pytest.importorskip("matplotlib")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures, instead of files."""
    figures: list[Any] = []

    def keep(plt: Any, figure: Any, path: Path) -> None:
        figure.canvas.draw()
        figures.append(figure)
        plt.close(figure)

    monkeypatch.setattr(text_pictures, "save_figure", keep)
    return figures


def test_documents_are_whole_and_sizes_stand_inside_the_panel(drawn: list[Any], tmp_path: Path) -> None:
    """Half documents were counted, and the border cut through the sizes."""
    counts = [100, 200, 300, 600, 120]
    draw_lengths(counts, length_report(counts), tmp_path / "lengths.png")
    panel = drawn[0].axes[0]
    assert all(float(tick).is_integer() for tick in panel.get_yticks())
    inside = panel.get_window_extent()
    assert [text.get_text().strip() for text in panel.texts] == ["128", "256", "512"]
    for text in panel.texts:
        box = text.get_window_extent()
        assert inside.y0 < box.y0 < box.y1 < inside.y1


def test_the_title_counts_the_documents_that_are_drawn(drawn: list[Any], tmp_path: Path) -> None:
    chunk = {"ordinal": 0, "tokens": [0, 9], "core": [0, 9]}
    draw_chunks([{"chunks": [chunk]}, {"chunks": []}, {"chunks": [chunk, chunk]}], tmp_path / "chunks.png")
    assert drawn[0].axes[0].get_title() == "2 documents, 3 chunks; 1 document without a chunk"


def test_chunks_are_counted_from_one_and_documents_that_are_left_out_are_said(drawn: list[Any], tmp_path: Path) -> None:
    chunks = [{"ordinal": ordinal, "tokens": [0, 9], "core": [0, 9]} for ordinal in (0, 1)]
    draw_chunks([{"chunks": chunks}], tmp_path / "chunks.png", more=True)
    panel = drawn[0].axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["1: chunk 1", "1: chunk 2"]
    assert panel.get_title() == "1 document, 2 chunks; the documents after these are left out"

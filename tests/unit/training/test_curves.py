"""The picture of a run: its numbers are those of `metrics.jsonl`, whole at every moment, in words too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from longdoc.errors import CannotWriteError
from longdoc.training import curves
from training_kit import documents, run

LINES = [
    {"step": 10, "epoch": 0.5, "loss": 2.0, "learning_rate": 1e-3},
    {"step": 20, "epoch": 1.0, "loss": 1.0, "learning_rate": 5e-4},
    {"step": 20, "epoch": 1, "split": "validation", "loss": 1.5, "macro_f1": 0.25},
    {"step": 40, "epoch": 2.0, "loss": None, "learning_rate": 0.0},
    {"step": 40, "epoch": 2, "split": "validation", "loss": 1.25, "macro_f1": 0.75},
]


def paths(picture: str) -> list[list[tuple[float, float]]]:
    """The places of all lines that are no grid."""
    drawn = [e.get("d", "") for e in ElementTree.fromstring(picture).iter() if e.get("fill") == "none"]
    return [[tuple(map(float, point.split())) for point in d[1:].split("L")] for d in drawn]  # type: ignore[misc]


def test_lines_go_through_the_numbers() -> None:
    picture = curves.curves_picture(LINES, "macro_f1")
    lines = paths(picture)
    assert len(lines) == 4, "loss in training and on validation, score, learning rate"
    places = {len(line): line for line in lines}
    assert set(places) == {2, 3}
    rate = places[3]
    steps = [x for x, _ in rate]
    assert steps[0] - 70 == pytest.approx((steps[2] - 70) / 4, abs=0.1), "step 10 of 40 is a quarter of the way"
    heights = [y for _, y in rate]
    assert heights[1] == pytest.approx((heights[0] + heights[2]) / 2, abs=0.1), "half the rate is half the height"


def test_it_is_told_in_words_and_needs_nothing_from_elsewhere() -> None:
    root = ElementTree.fromstring(curves.curves_picture(LINES, "macro_f1"))
    described = root.findtext("{http://www.w3.org/2000/svg}desc")
    assert described == (
        "loss: training from 2 to 1, validation from 1.5 to 1.25; macro f1: validation from 0.25 to 0.75; "
        "learning rate: training from 0.001 to 0"
    )
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "title", "desc", "rect", "path", "text", "circle"}


def test_without_validation_and_without_lines() -> None:
    assert len(paths(curves.curves_picture([line for line in LINES if "split" not in line], "macro_f1"))) == 2
    assert "nothing was logged yet" in curves.curves_picture([], "macro_f1")
    flat = curves.curves_picture([{"step": 1, "loss": 0.0}, {"step": 2, "loss": 0.0}], "loss")
    assert len({y for _, y in paths(flat)[0]}) == 1


def test_many_steps_are_averaged_not_dropped() -> None:
    many = [{"step": n + 1, "loss": float(n % 2)} for n in range(4000)]
    (line,) = paths(curves.curves_picture(many, "loss"))
    assert len(line) == 400
    assert len({y for _, y in line}) == 1, "each point is the mean of ten steps"


def test_a_run_leaves_its_curves_beside_its_numbers(tiny_pipeline, tmp_path: Path) -> None:
    run(tiny_pipeline, tmp_path / "m", "num_train_epochs=2", train=documents(6), validation=documents(3, 6))
    picture = (tmp_path / "m" / "curves.svg").read_text()
    lines = [json.loads(line) for line in (tmp_path / "m" / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line.get("split") == "validation"][-1]
    assert re.search(rf"validation from \S+ to {last['loss']:.4g}[;,]", picture)
    assert picture == curves.curves_picture(lines, "macro_f1")


def test_a_full_disk_costs_the_picture_not_the_run(tmp_path: Path, monkeypatch, caplog) -> None:
    (tmp_path / "metrics.jsonl").write_text(json.dumps(LINES[0]) + "\n")

    def full(*_: object) -> None:
        raise CannotWriteError("no room")

    monkeypatch.setattr(curves, "write_text", full)
    curves.write_curves(tmp_path, "macro_f1")
    assert [record.getMessage() for record in caplog.records] == ["no curves.svg: CannotWriteError"]
    assert not (tmp_path / "curves.svg").exists()

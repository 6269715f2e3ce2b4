"""A comparison that is stopped goes on, and its figure and table say what was found."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from longdoc.errors import UsageError
from longdoc.study.ablation import AblationConfig
from longdoc.study.ablation_picture import draw_ablation
from longdoc.study.ablation_run import read_results, run_ablation
from longdoc.study.ablation_table import ablation_table
from longdoc.study.order_tasks import chance

SMALL = AblationConfig(
    width=16, layers=1, heads=2, trained_length=48, steps=2, batch=4, test_rows=6, longer_tokens=2048
)


def test_a_run_that_was_cut_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    whole = run_ablation(tmp_path / "a", ["rotary", "alibi"], [0], SMALL, tell=lambda *n: told.append(n))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    lines = (tmp_path / "a" / "results.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "results.jsonl").write_text("".join(lines[:2]) + lines[2][:20])
    (tmp_path / "b" / "settings.json").write_bytes((tmp_path / "a" / "settings.json").read_bytes())
    assert run_ablation(tmp_path / "b", ["rotary", "alibi"], [0], SMALL) == whole
    assert (tmp_path / "b" / "results.jsonl").read_text().splitlines(keepends=True) == lines
    assert (tmp_path / "b" / "table.md").read_text() == (tmp_path / "a" / "table.md").read_text()
    with pytest.raises(UsageError, match="must be a new folder for new settings"):
        run_ablation(tmp_path / "b", ["rotary"], [0], AblationConfig(steps=3))


def test_a_line_that_is_half_there_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert read_results(path) == []
    path.write_text('{"task": "roles"}\n{"task": "dist')
    assert read_results(path) == [{"task": "roles"}]
    assert path.read_text() == '{"task": "roles"}\n'


def test_the_figure_names_every_kind_and_task(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `plots`")
    results = [
        {
            "task": task,
            "kind": kind,
            "seed": seed,
            "accuracy": 0.5 + seed / 10,
            "longer": {way: {} if task == "documents" else {"256": 0.5, "512": 0.4} for way in ("as it is", "yarn")},
        }
        for task in ("roles", "documents")
        for kind in ("rotary", "none")
        for seed in (0, 1)
    ]
    draw_ablation(results, tmp_path / "figure.svg", {"roles": 0.5})
    drawn = (tmp_path / "figure.svg").read_text()
    ElementTree.fromstring(drawn)
    for word in ("roles", "documents", "rotary", "none", "rotary, yarn", "beyond the trained length"):
        assert f"<!-- {word}" in drawn or f"{word} -->" in drawn, word
    draw_ablation(results, tmp_path / "again.svg", {"roles": 0.5})
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "figure.svg").read_bytes()
    draw_ablation(results, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_guessing_is_the_share_of_the_most_frequent_label(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "x", "label": "ab"[n % 4 == 0]} for n in range(8)]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert chance(tmp_path) == {"roles": 0.5, "distances": 0.2, "documents": 0.75}
    assert chance() == {"roles": 0.5, "distances": 0.2}


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("nope", "language_gate, none, stacked. Correct `kind`."),
        ("stacked", "`stacked` is none of the kinds that are compared. `parts` must be given, but is not."),
    ],
)
def test_a_kind_that_cannot_be_compared_is_refused_and_nothing_written(kind: str, end: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        run_ablation(tmp_path / "new", ["rotary", kind], [0], SMALL)
    assert str(refused.value).endswith(end)
    assert not (tmp_path / "new").exists()


def test_a_model_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "longdoc.json").write_text("{}")
    with pytest.raises(UsageError, match="holds a model already"):
        run_ablation(tmp_path, ["rotary"], [0], SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["longdoc.json"]


def test_one_seed_has_no_interval() -> None:
    result = {"task": "roles", "kind": "none", "seed": 0, "accuracy": 0.525, "longer": {}}
    assert "| none | 0.525 +- - |" in ablation_table([result])
    assert "| none | 0.525 +- 0.000 |" in ablation_table([result, {**result, "seed": 1}])

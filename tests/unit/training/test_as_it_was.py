"""What a run that fails before its first step leaves: nothing that was not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from longdoc.training.as_it_was import AsItWas


def run(folder: Path, steps: int) -> None:
    with AsItWas(folder) as before:
        before.begun = lambda: steps > 0
        folder.mkdir(exist_ok=True)
        (folder / "config.resolved.yaml").write_text("new: 1\n")
        (folder / "metrics.jsonl").write_text("{}\n")
        raise ZeroDivisionError


def fail(folder: Path, steps: int) -> None:
    with pytest.raises(ZeroDivisionError):
        run(folder, steps)


def test_before_the_first_step_everything_is_undone(tmp_path: Path) -> None:
    fail(tmp_path / "run", steps=0)
    assert list((tmp_path / "run").iterdir()) == []


def test_what_another_run_left_comes_back(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("old\n")
    (tmp_path / "notes.txt").write_text("mine")
    fail(tmp_path, steps=0)
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"metrics.jsonl": "old\n", "notes.txt": "mine"}


def test_after_a_step_it_is_kept(tmp_path: Path) -> None:
    fail(tmp_path / "run", steps=1)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.resolved.yaml", "metrics.jsonl"]


def test_other_processes_leave_it_to_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    fail(tmp_path / "run", steps=0)
    assert (tmp_path / "run" / "metrics.jsonl").exists()

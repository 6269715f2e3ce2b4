"""Folders appear whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from longdoc.errors import CannotWriteError
from longdoc.files import write_folder

LAST = ("config.json", "longdoc.json")


def fill(folder: Path) -> None:
    for name in ("longdoc.json", "weights", "config.json"):
        (folder / name).write_text(f"new {name}")


def test_a_new_folder_appears_by_one_rename(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "model"
    write_folder(target, fill, LAST)
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        name: f"new {name}" for name in ("longdoc.json", "weights", "config.json")
    }
    assert [path.name for path in target.parent.iterdir()] == ["model"], "nothing is left beside it"


def test_other_files_of_a_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("kept")
    (tmp_path / "weights").write_text("old")
    write_folder(tmp_path, fill, LAST)
    assert (tmp_path / "metrics.jsonl").read_text() == "kept"
    assert (tmp_path / "weights").read_text() == "new weights"


def test_what_an_earlier_model_left_goes_unless_it_is_written_anew(tmp_path: Path) -> None:
    for name in ("metrics.jsonl", "weights", "weights-2-of-2", "extra"):
        (tmp_path / name).write_text("old")
    write_folder(tmp_path, fill, LAST, ("weights", "weights-*", "extra", "never-there"))
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"metrics.jsonl": "old"} | {
        name: f"new {name}" for name in ("longdoc.json", "weights", "config.json")
    }


def test_a_folder_cut_short_lacks_what_readers_ask_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    write_folder(target, fill, LAST)
    replaced: list[str] = []
    original = Path.replace

    def die_before(self: Path, to: Path) -> Path:
        if len(replaced) == stop:
            raise KeyboardInterrupt
        replaced.append(Path(to).name)
        return original(self, to)

    monkeypatch.setattr(Path, "replace", die_before)
    for stop in range(3):
        replaced.clear()
        with pytest.raises(KeyboardInterrupt):
            write_folder(target, fill, LAST)
        names = {path.name for path in target.iterdir()}
        assert "longdoc.json" not in names
        assert ("config.json" in names) == (stop == 2)
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
    monkeypatch.undo()
    write_folder(target, fill, LAST)
    assert (target / "longdoc.json").exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_refuses_leaves_the_old_folder(tmp_path: Path, code: int) -> None:
    target = tmp_path / "model"
    write_folder(target, fill, LAST)

    def fail(folder: Path) -> None:
        (folder / "weights").write_text("half")
        raise OSError(code, "refused")

    with pytest.raises(CannotWriteError, match=f"^{target} cannot be written: "):
        write_folder(target, fail, LAST)
    assert (target / "weights").read_text() == "new weights"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]

"""Outputs are looked at before the computation starts, and a folder has one writer."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from longdoc.errors import CannotWriteError, UsageError
from longdoc.files import check_file_output, check_folder_output, only_writer


def test_a_file_must_be_able_to_become_one(tmp_path: Path) -> None:
    check_file_output(tmp_path / "new.html")
    (tmp_path / "old.html").write_text("x")
    check_file_output(tmp_path / "old.html")
    with pytest.raises(UsageError) as caught:
        check_file_output(tmp_path)
    assert str(caught.value) == f"`output` must be a file, but {tmp_path} is a folder. Name a file in it."
    with pytest.raises(UsageError) as caught:
        check_file_output(tmp_path / "none" / "new.html", "file")
    assert str(caught.value) == (
        f"`file` must be in a folder that exists, but there is no folder {tmp_path / 'none'}. Create it first."
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that looks writable and takes no file")
def test_a_place_that_takes_no_file_is_refused_though_it_looks_writable() -> None:
    for check in (check_file_output, check_folder_output):
        with pytest.raises(CannotWriteError) as caught:
            check(Path("/proc/new"))
        assert str(caught.value).startswith("/proc/new cannot be written: ")


def test_a_folder_must_be_able_to_become_one(tmp_path: Path) -> None:
    check_folder_output(tmp_path)
    check_folder_output(tmp_path / "new" / "deep")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "deep"):
        with pytest.raises(UsageError) as caught:
            check_folder_output(path)
        assert str(caught.value) == (
            f"`output` must be a folder, but {tmp_path / 'file'} is a file. Name another folder."
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"], "looking writes nothing"


@pytest.mark.parametrize("check", [check_file_output, check_folder_output])
def test_a_name_that_no_file_system_takes_is_refused(check, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        check(tmp_path / ("n" * 256))
    assert str(caught.value) == "names in `output` must have at most 230 bytes, but one has 256 instead."


@pytest.mark.parametrize("check", [check_file_output, check_folder_output])
def test_a_folder_that_takes_no_files_is_status_74(check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the super user may write everywhere
    with pytest.raises(CannotWriteError, match="Permission denied") as caught:
        check(tmp_path / "new")
    assert caught.value.exit_status == 74


def test_a_finished_job_may_lie_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    check_folder_output(tmp_path, written=False)


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with only_writer(folder):
        (folder / "metrics.jsonl").write_text("")
        busy = re.escape(f"`output` must be a folder that no other run writes to, but one is at work in {folder}.")
        with pytest.raises(UsageError, match=busy), only_writer(folder):
            pytest.fail("a second run came in")
    with only_writer(folder):
        assert [path.name for path in folder.iterdir()] == ["metrics.jsonl"], "the lock leaves nothing behind"


def test_a_run_that_wrote_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError), only_writer(tmp_path / "run"):
        raise ValueError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with only_writer(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").is_dir(), "an empty folder that was there before stays"

import errno
import os
from pathlib import Path

import pytest

from longdoc.errors import CannotWriteError
from longdoc.files import cannot_write, write_text


def test_the_new_text_replaces_the_old_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    write_text(path, "new ü")
    assert path.read_text(encoding="utf-8") == "new ü"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_fault_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        CannotWriteError, match=r"^cannot write .*a\.txt: No space left on device \([\d,]+ bytes free\)\."
    ):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_not_there_is_a_writing_fault(tmp_path: Path) -> None:
    with pytest.raises(CannotWriteError):
        write_text(tmp_path / "none" / "a.txt", "x")


def test_other_faults_pass_through() -> None:
    fault = OSError(errno.EMFILE, "Too many open files")
    assert cannot_write(Path("x"), fault) is fault

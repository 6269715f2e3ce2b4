"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from longdoc.errors import CannotWriteError
from longdoc.files import unlink, write_bytes, write_text


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / ".work"
    folder.mkdir()
    return folder


def test_the_file_is_durable_before_it_is_visible_and_the_name_is_durable_last(tmp_path, work, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(descriptor):
        calls.append("fsync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync file")
        fsync(descriptor)

    def recorded_replace(before, after):
        calls.append(f"rename from {Path(before).parent.name}")
        replace(before, after)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    write_bytes(tmp_path / "part", b"bytes", work)
    assert calls == ["fsync file", "rename from .work", "fsync folder"]
    assert (tmp_path / "part").read_bytes() == b"bytes"
    assert list(work.iterdir()) == []


def test_data_is_written_whole_when_the_system_takes_it_in_bits(tmp_path, work, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    write_bytes(tmp_path / "part", b"0123456789", work)
    assert (tmp_path / "part").read_bytes() == b"0123456789"


WAYS_OUT = {
    errno.ENOSPC: "Make room or choose another output",
    errno.EDQUOT: "Make room or choose another output",
    errno.EROFS: "Grant the permission or choose another output",
    errno.EACCES: "Grant the permission or choose another output",
    errno.ENOENT: "Choose another output",
    errno.EIO: "Mend that or choose another output",
}


@pytest.mark.parametrize("code", WAYS_OUT)
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, work, monkeypatch, call, code):
    target = tmp_path / "part"
    target.write_bytes(b"old")

    def fail(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(CannotWriteError) as caught:
            write_bytes(target, b"new", work)
    assert target.read_bytes() == b"old"
    assert list(work.iterdir()) == []
    assert caught.value.exit_status == 74
    assert re.fullmatch(
        re.escape(f"{target} cannot be written: {os.strerror(code)} ({errno.errorcode[code]}); ")
        + r"[\d,]+ bytes are free there\. "
        + re.escape(f"{WAYS_OUT[code]}, then run the same command again."),
        str(caught.value),
    )


def test_removing_a_file_that_is_not_there_is_no_error(tmp_path):
    unlink(tmp_path / "absent")
    (tmp_path / "present").write_bytes(b"")
    unlink(tmp_path / "present")
    assert list(tmp_path.iterdir()) == []


def test_text_takes_the_place_of_the_old_one_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    write_text(path, "new ü")
    assert path.read_text(encoding="utf-8") == "new ü"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_not_there_is_a_writing_fault(tmp_path):
    with pytest.raises(CannotWriteError, match=r"a.txt cannot be written: No such file or directory \(ENOENT\)"):
        write_text(tmp_path / "none" / "a.txt", "x")

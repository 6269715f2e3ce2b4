"""A full disk ends a job cleanly, and the same command goes on once there is room."""

from __future__ import annotations

import subprocess
import sys

import pytest
from crash_kit import finish, start

from job_kit import final_files, load_echo, write_corpus
from longdoc.errors import CannotWriteError
from longdoc.jobs import JobConfig, run_job, verify_job

JOB = JobConfig(documents_per_part=4, max_failures=100)


@pytest.fixture
def whole(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 24)
    run_job([tmp_path / "in.jsonl"], tmp_path / "whole", load_echo, job=JOB)
    return tmp_path / "in.jsonl", final_files(tmp_path / "whole")


def test_files_that_may_not_grow_end_the_job_with_status_74(whole, tmp_path):
    source, expected = whole
    part = (tmp_path / "whole/part-00000.parquet").stat().st_size
    status, _, err = finish(start(source, tmp_path / "out", "--largest-file", part - 1))
    assert status == 74, err
    assert f"CannotWriteError: {tmp_path}/out/part-00000.parquet cannot be written: File too large (EFBIG); " in err
    assert "bytes are free there" in err
    assert list((tmp_path / "out").glob("part-*")) == []
    assert not list((tmp_path / "out/.work").glob(".*.tmp"))
    run_job([source], tmp_path / "out", load_echo, job=JOB)
    assert final_files(tmp_path / "out") == expected


@pytest.mark.crash
@pytest.mark.parametrize("pages", range(5, 16))
def test_a_small_file_system_that_fills_up(whole, tmp_path, pages):
    source, expected = whole
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system; the limit on file sizes is tested in its place")
    try:
        with pytest.raises(CannotWriteError) as caught:
            run_job([source], disk / "out", load_echo, job=JOB)
        assert "No space left on device (ENOSPC); " in str(caught.value)
        assert str(disk) in str(caught.value)
        kept = {path.name for path in (disk / "out").glob("part-*")}
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        report = run_job([source], disk / "out", load_echo, job=JOB)
        assert report.reused_parts == len(kept)
        assert final_files(disk / "out") == expected
        assert verify_job(disk / "out").documents == 24
    finally:
        subprocess.run(["umount", str(disk)], check=True)

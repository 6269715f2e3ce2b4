"""The folder of a job belongs to one run at a time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from longdoc.errors import JobError, UsageError
from longdoc.jobs.folder import locked, open_job_folder, remove_leftovers


def test_a_new_folder_is_made_with_its_parents_and_a_work_folder_nobody_else_may_read(tmp_path):
    work = open_job_folder(tmp_path / "a" / "b" / "out")
    assert work == tmp_path / "a" / "b" / "out" / ".work"
    assert work.stat().st_mode & 0o777 == 0o700
    assert open_job_folder(tmp_path / "a" / "b" / "out") == work


def test_a_folder_with_other_files_and_no_plan_is_refused(tmp_path):
    (tmp_path / "thesis.docx").write_bytes(b"")
    (tmp_path / "zebra.txt").write_bytes(b"")
    with pytest.raises(JobError) as caught:
        open_job_folder(tmp_path)
    assert str(caught.value) == (
        f"`output` must be an empty folder or the folder of a job, but {tmp_path} holds 2 other files (the first is "
        "thesis.docx) and no _plan.json. Name another folder."
    )
    assert not (tmp_path / ".work").exists()


def test_results_without_a_plan_are_refused(tmp_path):
    (tmp_path / "_manifest.json").write_bytes(b"{}")
    with pytest.raises(JobError, match=r"the first is _manifest\.json"):
        open_job_folder(tmp_path)


def test_the_resolved_configuration_may_lie_there_before_the_plan(tmp_path):
    (tmp_path / "_config.yaml").write_text("job: {}")
    assert open_job_folder(tmp_path).is_dir()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(JobError) as caught:
        open_job_folder(tmp_path / "out")
    assert str(caught.value) == f"`output` must be a folder, but {tmp_path / 'out'} is a file. Name another folder."


def test_a_folder_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    message = f"`output` must be a folder, but {tmp_path / 'file'} is a file. Name another folder."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        open_job_folder(tmp_path / "file" / "out")


def test_a_second_run_is_refused_while_the_first_lives(tmp_path):
    work = open_job_folder(tmp_path / "out")
    with locked(work), pytest.raises(JobError) as caught, locked(work):
        pass
    assert str(caught.value) == (
        f"{tmp_path / 'out'} is being written by another run (process {os.getpid()}). Wait for it or stop it, then run "
        "the same command again."
    )
    with locked(work):
        pass


def test_the_lock_of_a_killed_process_is_free_and_was_held_before(tmp_path):
    work = open_job_folder(tmp_path / "out")
    code = (
        "import sys, time; from pathlib import Path; from longdoc.jobs.folder import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(work)], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"held\n"
            with pytest.raises(JobError, match=f"another run \\(process {child.pid}\\)"), locked(work):
                pass
        finally:
            child.kill()
    with locked(work):
        pass


def test_leftovers_of_killed_writers_are_removed_and_nothing_else(tmp_path):
    for name in (".part-00000.parquet.123.tmp", ".attempts.json.9.tmp", "attempts.json", "lock"):
        Path(tmp_path / name).write_bytes(b"")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempts.json", "lock"]

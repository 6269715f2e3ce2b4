"""The folder of a job: opened by one run at a time, and never one that belongs to something else."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longdoc.errors import JobError, on_one_line
from longdoc.files import cannot_write, check_folder_output, sync
from longdoc.jobs.names import MANIFEST_NAME, PLAN_NAME, work_folder

__all__ = ["check_job_folder", "locked", "open_job_folder", "remove_leftovers"]


def check_job_folder(output: Path) -> None:
    """Refuse a folder that is not a job's and not empty. Writes nothing.

    Names that start with `_` or `.` do not count as foreign: readers of a folder of Parquet files skip them, so the
    resolved configuration may lie there before the plan does.

    Raises:
        JobError: `output` is a file, or holds files but no plan.
        UsageError: a part of its path is a file, or a name in it is too long.
    """
    if output.exists() and not output.is_dir():
        raise JobError(f"`output` must be a folder, but {output} is a file. Name another folder.")
    check_folder_output(output, written=False)
    if output.is_dir() and not (output / PLAN_NAME).is_file():
        foreign = sorted(p.name for p in output.iterdir() if p.name[0] not in "_." or p.name == MANIFEST_NAME)
        if foreign:
            raise JobError(
                f"`output` must be an empty folder or the folder of a job, but {output} holds {len(foreign)} other "
                f"files (the first is {on_one_line(foreign[0])}) and no {PLAN_NAME}. Name another folder."
            )


def open_job_folder(output: Path) -> Path:
    """Create `output` and its `.work/` where they are missing, and give back the latter.

    Raises:
        JobError: as `check_job_folder`.
        CannotWriteError: they cannot be created.
    """
    check_job_folder(output)
    work = work_folder(output)
    try:
        for folder in (*reversed(output.parents), output):
            if not folder.is_dir():
                folder.mkdir(exist_ok=True)
                sync(folder.parent)
        work.mkdir(mode=0o700, exist_ok=True)
        sync(output)
    except OSError as error:
        raise cannot_write(output, error) from None
    return work


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """Hold the job's lock. The kernel frees it when the process ends, however it ends.

    Raises:
        JobError: another live run holds it.
    """
    path = work / "lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise JobError(
                f"{work.parent} is being written by another run (process {holder}). Wait for it or stop it, then run "
                "the same command again."
            ) from None
        except OSError as error:
            raise cannot_write(path, error) from None
        with suppress(OSError):  # the number is a courtesy to the next run's message, not the lock
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(work: Path) -> None:
    """Delete temporary files of processes that were killed. Call it with the lock held and no worker alive."""
    for path in work.glob(".*.tmp"):
        with suppress(OSError):
            path.unlink()

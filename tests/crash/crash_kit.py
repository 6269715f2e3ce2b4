"""Starting, watching and killing jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CHILD = Path(__file__).resolve().parent / "job_child.py"


def start(source: Path, output: Path, *options: str | Path | int) -> subprocess.Popen[bytes]:
    """A job in a process group of its own."""
    command = [sys.executable, str(CHILD), str(source), str(output), *map(str, options)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    )


def finish(child: subprocess.Popen[bytes], timeout: float = 120) -> tuple[int, str, str]:
    """Exit status and both streams, once the job has ended by itself."""
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_group(child)
        raise
    return child.returncode, out.decode(), err.decode()


def kill_group(child: subprocess.Popen[bytes]) -> tuple[str, str]:
    """SIGKILL for the job and all its workers."""
    os.killpg(child.pid, signal.SIGKILL)
    out, err = child.communicate()
    return out.decode(), err.decode()


class PartReader(threading.Thread):
    """A consumer that looks every five milliseconds and opens each part it has not seen: none may be unreadable.

    Attributes:
        opened: how many files were opened.
        faults: what went wrong, by file name and exception.
    """

    def __init__(self, output: Path) -> None:
        super().__init__(daemon=True)
        self.output = output
        self.opened = 0
        self.faults: list[str] = []
        self._seen: set[tuple[str, int, int]] = set()
        self._over = threading.Event()

    def __enter__(self) -> PartReader:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.is_set():
            self.look()
            time.sleep(0.005)
        self.look()

    def look(self) -> None:
        for path in sorted(self.output.glob("part-*")):
            try:
                state = path.stat()
                key = (path.name, state.st_ino, state.st_mtime_ns)
                if key in self._seen:
                    continue
                data = path.read_bytes()
            except FileNotFoundError:  # the test has cleared the folder for another round
                continue
            self._seen.add(key)
            self.opened += 1
            try:
                pq.read_table(pa.BufferReader(data), page_checksum_verification=True).validate(full=True)
            except Exception as error:
                self.faults.append(f"{path.name}: {type(error).__name__}")

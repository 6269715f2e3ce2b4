"""Starting, watching and killing jobs."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from job_kit import final_files

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


def kill_one_worker(child: subprocess.Popen[bytes], chance: random.Random) -> bool:
    """SIGKILL for one of the job's workers, whose parent lives on; False if there is none just now."""
    try:
        workers = [p for p in psutil.Process(child.pid).children() if "spawn_main" in " ".join(p.cmdline())]
        if workers:
            chance.choice(workers).kill()
        return bool(workers)
    except psutil.NoSuchProcess:
        return False


def kill_at_random(
    source: Path,
    output: Path,
    expected: dict[str, str],
    options: tuple[str | int | float, ...],
    kills: int,
    seed: int,
    share_of_workers: float = 0.0,
    deadline: float = float("inf"),
) -> Counter[str]:
    """Run a job and kill it, again and again; whenever a run ends by itself, compare its files and begin anew.

    Args:
        expected: the final files of an undisturbed run.
        options: of the job, see `job_child`.
        kills: that must have been made.
        share_of_workers: of the kills that hit a worker alone, after which the job goes on by itself.
        deadline: of `time.monotonic`, after which no job is started any more.

    Returns:
        How many kills hit the whole group (`group`), a worker (`worker`), a job between its plan and its manifest
        (`at work`), and how many runs ended and were compared (`compared`).
    """
    chance = random.Random(seed)
    happened: Counter[str] = Counter()

    def compare(child: subprocess.Popen[bytes]) -> None:
        status, out, err = finish(child)
        assert status == 0, f"seed {seed}: {out}{err}"
        assert final_files(output) == expected, f"seed {seed}"
        happened["compared"] += 1
        shutil.rmtree(output)

    beginning = time.monotonic()
    compare(start(source, output, *options))
    duration = time.monotonic() - beginning
    with PartReader(output) as reader:
        while happened["group"] + happened["worker"] < kills and time.monotonic() < deadline:
            child = start(source, output, *options)
            over = False
            while not over:
                try:
                    child.wait(chance.uniform(0.15, duration))
                except subprocess.TimeoutExpired:
                    happened["at work"] += (output / "_plan.json").exists() and not (output / "_manifest.json").exists()
                    if chance.random() < share_of_workers:
                        happened["worker"] += kill_one_worker(child, chance)
                    else:
                        kill_group(child)
                        happened["group"] += 1
                        over = True
                else:
                    compare(child)
                    over = True
        compare(start(source, output, *options))
    assert reader.faults == [], f"seed {seed}: {reader.faults}"
    happened["opened"] = reader.opened
    return happened


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
        try:
            paths = sorted(self.output.glob("part-*"))
        except FileNotFoundError:  # the test clears the folder at this very moment
            return
        for path in paths:
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

"""Starting, watching and killing jobs of the engines that have processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from longdoc.jobs import JobConfig

CHILD = Path(__file__).resolve().parent / "engine_child.py"
LAUNCH = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
          "--dynamo_backend", "no", "--mixed_precision", "no", "--main_process_port", "0",
          "--num_cpu_threads_per_process", "1"]  # fmt: skip
"""Two processes on a CPU: `--multi_gpu` is how Accelerate names several; no GPU is used."""


class Job:
    """A job in a process group of its own, with two workers.

    Attributes:
        process: the driver, or the launcher.
    """

    def __init__(self, engine: str, source: Path, output: Path, delay: float, **settings: Any) -> None:
        self.engine, self.output = engine, output
        config = JobConfig(engine=engine, workers=2, documents_per_part=4, max_failures=100, **settings)
        launch = ["-m", *LAUNCH] if engine == "accelerate" else []
        command = [sys.executable, *launch, CHILD, source, output, delay, config.model_dump_json()]
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.everybody():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.kill()
        self.process.communicate()

    def everybody(self) -> list[psutil.Process]:
        """All processes of the job but the first."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def workers(self) -> list[psutil.Process]:
        """Those that answer parts and do not lead."""
        return [process for process in self.everybody() if self._is_worker(process)]

    def _is_worker(self, process: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):
            if self.engine == "ray":
                return process.name().startswith("ray::PartsActor")
            return str(CHILD) in process.cmdline() and process.environ().get("RANK") == "1"
        return False

    def wait_until_at_work(self) -> list[psutil.Process]:
        """Give back the workers once two parts are there and not all."""
        while len(list(self.output.glob("part-*"))) < 2 or not self.workers():
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)
        return self.workers()

    def wait_until(self, happens: Callable[[], object], seconds: float = 200) -> list[psutil.Process]:
        """Wait for something, for the job's end or so many seconds; give back its processes."""
        end = time.monotonic() + seconds
        while not happens() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        return self.everybody()

    def finish(self, timeout: float = 240) -> tuple[int, str]:
        """Exit status and what it has said on both streams."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out + err

    def kill_group(self) -> None:
        """SIGKILL for whoever is in the group of the first process, as a batch system's last word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


def all_gone(processes: list[psutil.Process], seconds: float = 60) -> bool:
    """Whether they all end by themselves."""
    return not psutil.wait_procs(processes, timeout=seconds)[1]

"""Ray's own ways kept in check: no report of use, no line on standard output, and the signals of the process stay ours.

Daemons of the job's own Ray do not hear SIGTERM, which schedulers send to all processes of a job at once: the driver
decides when they end, and they do not outlive it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from longdoc.errors import ConfigurationError

__all__ = ["cores", "own_environment", "own_folder", "own_signals", "quiet", "show_token"]

_log = logging.getLogger(__name__)

_PREFIX = "ldray-"
_LONGEST_FOLDER = 25  # 107 less the folder in it and `session_DATE_TIME_PID/sockets/plasma_store`
_TOKEN = secrets.token_hex(32)  # one for the process: Ray remembers the first that it sees
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def own_folder(chosen: Path | None) -> Iterator[Path]:
    """A folder of the job's own, and none of those that jobs left behind when they were killed.

    Raises:
        ConfigurationError: `chosen` is no folder, or has a long name: names of sockets have 107 bytes at most.
    """
    within = Path(tempfile.gettempdir()) if chosen is None else chosen.absolute()
    if chosen is None and len(os.fsencode(within)) > _LONGEST_FOLDER:
        within = Path("/tmp")
    if len(os.fsencode(within)) > _LONGEST_FOLDER or not within.is_dir():
        raise ConfigurationError(
            f"`job.ray.temp_dir` must be a folder whose path has at most {_LONGEST_FOLDER} bytes, but {within} is not. "
            "Name another."
        )
    for left in within.glob(f"{_PREFIX}*"):
        with suppress(OSError), _locked(left):  # a live job holds the lock of its folder
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=within))
    try:
        with _locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)  # not handed on to Ray's processes
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def own_environment() -> Iterator[None]:
    """What the job's own Ray inherits.

    It obeys only those who know a word that nobody is told, since its ports may be seen by others, and its workers
    find the modules that this process finds.
    """
    before = {name: os.environ.get(name) for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "PYTHONPATH")}
    os.environ["RAY_AUTH_TOKEN"] = _TOKEN  # with a word and no mode set, a Ray that knows of words asks for it
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def own_signals() -> Iterator[None]:
    """Ray takes over SIGTERM in the driver: give it back. Daemons that start meanwhile do not hear it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def show_token() -> None:
    """Where there is a token for a cluster, it is shown to it. Ray looks at the mode when it is imported first."""
    named = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if named or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


@contextmanager
def quiet() -> Iterator[None]:
    """No report of use, and what Ray prints about dead workers goes to our log."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray._private import worker

    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.ERROR)

    original: Callable[..., None] | None = getattr(worker, "print_to_stdstream", None)
    if original is not None:
        worker.print_to_stdstream = _note
    try:
        yield
    finally:
        logger.setLevel(level)
        if original is not None:
            worker.print_to_stdstream = original


def _note(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
    """Lines of Ray's own processes; those of workers are not sent here."""
    for line in data.get("lines", ()):
        _log.debug("ray: %s", line)

"""Parsers of formats that strangers can make hostile run in another process, which may hang, burst or crash.

The process is started once and answers for many files, one after the other; after a crash or a limit the next file gets
a new one. It is an interpreter of its own, started by `subprocess` rather than forked, so that it holds nothing of this
process (threads, models, secrets of the environment) and works inside the workers of a job too. It ends with this
process, and when it has had nothing to do for a minute.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from pydantic import Field

from longdoc.errors import FAILURE_REASONS, DataError, DocumentError
from longdoc.readers.parsed import ParsedDocument
from longdoc.readers.sandbox_child import ANSWER, IDLE_STATUS, REQUEST
from longdoc.schema import Config

__all__ = ["Sandbox", "SandboxConfig", "close_sandboxes", "parse_in_sandbox"]

_CODE = (
    "import sys; sys.path[:] = sys.argv[2:]; from longdoc.readers.sandbox_child import serve; serve(int(sys.argv[1]))"
)
_COUNTED_APART = 16 << 20
_PIECE = 1 << 20
_ROOM_FOR_STRUCTURE = 1 << 24
_LONGEST_FAILURE = 1000
_START_SECONDS = 120.0
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LC_ALL", "LANG")


class SandboxConfig(Config):
    """What a parser of PDF and its kin may use for one document. The limits hold for a process of its own."""

    memory_bytes: int = Field(default=2 << 30, ge=1 << 28)
    """Address space of the process, in bytes (`memory_limit`). macOS cannot limit it."""
    cpu_seconds: int = Field(default=60, ge=1)
    """Time of computing for one document, in seconds (`timeout`)."""
    wall_seconds: float = Field(default=120.0, gt=0, le=threading.TIMEOUT_MAX)
    """Time for one document by the clock, in seconds (`timeout`)."""
    max_text_bytes: int = Field(default=256 << 20, ge=1)
    """Largest text that a parser may hand out, in bytes of UTF-8 (`too_large`)."""
    files_per_process: int = Field(default=1000, ge=1)
    """After so many files the process is replaced, in case a parser leaks memory."""


class Sandbox:
    """One process at a time, in which parsers run. May be used from several threads; they take turns.

    Args:
        limits: for every document.
    """

    def __init__(self, limits: SandboxConfig) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._process: _Process | None = None

    def parse(self, parser: str, data: bytes, settings: Mapping[str, Any]) -> ParsedDocument:
        """What the module `parser` makes of `data` (see `longdoc.readers.parsed`).

        A document whose process dies of anything but a limit is tried once more, alone in a new process.

        Raises `DocumentError` with the parser's own reason, or `timeout`, `memory_limit`, `too_large` or
        `worker_died`; `DataError` if no process can be started.
        """
        with self._lock:
            for last in (False, True):
                try:
                    return self._answer(parser, data, settings, last)
                except _Died as death:
                    signal_ = death.signal
            raise DocumentError("worker_died", f"The parser's process died twice ({signal_}).")

    def close(self) -> None:
        """End the process, if there is one. The sandbox can be used again."""
        with self._lock:
            self._drop()

    def _answer(self, parser: str, data: bytes, settings: Mapping[str, Any], alone: bool) -> ParsedDocument:
        limits = self.limits
        most = limits.max_text_bytes + _ROOM_FOR_STRUCTURE
        while True:
            process = self._ready(alone)
            head = {
                "parser": parser,
                "settings": dict(settings),
                "size": len(data),
                "cpu_seconds": limits.cpu_seconds,
                "most": limits.max_text_bytes,
                "last": alone or process.answered + 1 >= limits.files_per_process,
            }
            try:
                kind, more, answer = process.exchange(head, data, most, limits.wall_seconds)
            except (EOFError, OSError):
                if self._bury(process):
                    continue
            if more == b"-" or process.killed:
                self._drop()
            try:
                return _document(kind, answer)
            except DocumentError as error:
                if error.reason == "worker_died":  # whatever it sends next may be out of step
                    self._drop()
                raise

    def _ready(self, alone: bool) -> _Process:
        process = self._process
        if process is not None and (alone or not process.is_ours or process.has_ended):
            self._drop()
        if self._process is None:
            self._process = _Process(self.limits.memory_bytes)
        return self._process

    def _bury(self, process: _Process) -> bool:
        """True if the process had ended by itself before the request; else raises why it died during it."""
        killed, excess = process.killed, process.excess
        status, peak = process.end()
        self._process = None
        if excess:
            raise DocumentError("too_large", f"The text takes more than {self.limits.max_text_bytes} bytes.") from None
        if killed:
            raise DocumentError("timeout", f"It took longer than {self.limits.wall_seconds:g} seconds.") from None
        if status == IDLE_STATUS:
            return True
        if hasattr(signal, "SIGXCPU") and status == -signal.SIGXCPU:
            raise DocumentError("timeout", f"It took {self.limits.cpu_seconds} seconds of computing.") from None
        if 2 * peak > self.limits.memory_bytes:
            raise DocumentError("memory_limit", "The document needs more memory than `read.sandbox` allows.") from None
        raise _Died(f"signal {-status}" if status < 0 else f"exit status {status}") from None

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.is_ours:
            process.end()


_sandboxes: dict[SandboxConfig, Sandbox] = {}
_sandboxes_lock = threading.Lock()


def parse_in_sandbox(parser: str, data: bytes, settings: Mapping[str, Any], limits: SandboxConfig) -> ParsedDocument:
    """`Sandbox.parse` in a process that is shared by all callers with the same limits."""
    with _sandboxes_lock:
        sandbox = _sandboxes.setdefault(limits, Sandbox(limits))
    return sandbox.parse(parser, data, settings)


@atexit.register
def close_sandboxes() -> None:
    """End the processes that `parse_in_sandbox` has started. Happens by itself when the interpreter ends."""
    with _sandboxes_lock:
        sandboxes = list(_sandboxes.values())
        _sandboxes.clear()
    for sandbox in sandboxes:
        sandbox.close()


class _Died(Exception):  # noqa: N818  an event, not a fault of anybody
    def __init__(self, signal_: str) -> None:
        super().__init__(signal_)
        self.signal = signal_


class _Process:
    """A child, its pipes, and what became of it.

    Attributes:
        answered: how many requests it has answered.
        killed: whether it was killed because time was up.
        excess: whether it was about to send more than it may.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.answered = 0
        self.killed = self.excess = False
        self._owner = os.getpid()
        self._inherited = _peak_of_this_process()
        command = [sys.executable, "-I", "-B", "-c", _CODE, str(memory_bytes), *_import_path()]
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a pool takes address space for nothing
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(sys.executable).anchor,
                env=environment,
                start_new_session=True,  # an interrupt on the terminal is the parent's matter
            )
            self._requests, self._answers = _pipe(self._child.stdin), _pipe(self._child.stdout)
            self._inherited = max(self._inherited, _peak_of_this_process())  # it may have grown until the start
            started = self._receive(0, _START_SECONDS)[0] == b"D"
        except (EOFError, OSError):
            started = False
        if not started:
            if hasattr(self, "_child"):
                self.end()
            raise DataError(
                "The process that PDF, Word and other documents are parsed in cannot be started. Check that "
                "`sys.executable` is a Python that can import longdoc, and that there is memory for it."
            )

    @property
    def is_ours(self) -> bool:
        """False in a fork of the process that started it, which must leave it alone."""
        return self._owner == os.getpid()

    @property
    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def exchange(self, head: Mapping[str, Any], data: bytes, most: int, seconds: float) -> tuple[bytes, bytes, bytes]:
        """Send a request and receive its answer, of at most `most` bytes.

        Raises `EOFError` or `OSError` if the process dies or is killed during it.
        """
        encoded = json.dumps(head).encode("ascii")
        with self._alarm(seconds):
            self._requests.write(REQUEST.pack(len(encoded)) + encoded)
            self._requests.write(data)
            self._requests.flush()
            answer = self._read_answer(most)
        self.answered += 1
        return answer

    def end(self) -> tuple[int, int]:
        """Kill and reap it: the exit status, negative for a signal, and the most memory it had, in bytes."""
        self._kill()
        status, peak = self._reap()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what is left to be written goes nowhere
                    pipe.close()
        return status, peak

    def _receive(self, most: int, seconds: float) -> tuple[bytes, bytes, bytes]:
        with self._alarm(seconds):
            return self._read_answer(most)

    def _read_answer(self, most: int) -> tuple[bytes, bytes, bytes]:
        kind, more, length = ANSWER.unpack(self._read(ANSWER.size))
        if length > most or kind not in (b"D", b"F"):
            self.excess = True
            raise EOFError
        return kind, more, self._read(length)

    def _read(self, size: int) -> bytes:
        pieces = []
        while size:
            piece = self._answers.read(min(size, _PIECE))
            if not piece:
                raise EOFError
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    @contextlib.contextmanager
    def _alarm(self, seconds: float) -> Any:
        def strike() -> None:
            self.killed = True
            self._kill()

        alarm = threading.Timer(seconds, strike)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()

    def _kill(self) -> None:
        if self._child.returncode is not None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, signal.SIGKILL)  # it leads a group of its own
            else:
                self._child.kill()

    def _reap(self) -> tuple[int, int]:
        if self._child.returncode is not None or not hasattr(os, "wait4"):
            return self._child.wait(), 0
        try:
            _, status, usage = os.wait4(self._child.pid, 0)
        except ChildProcessError:  # somebody else has reaped it
            return self._child.wait(), 0
        self._child.returncode = os.waitstatus_to_exitcode(status)
        peak = _in_bytes(usage.ru_maxrss)
        # Within what the kernel's counters of two processes may differ by, it may be what we had, and not it.
        return self._child.returncode, peak if peak > self._inherited + _COUNTED_APART else 0


def _in_bytes(peak: int) -> int:
    return peak * (1 if sys.platform == "darwin" else 1024)


def _peak_of_this_process() -> int:
    """The most memory that this process has had: Linux counts it to a process that it starts."""
    try:
        import resource
    except ImportError:
        return 0
    return _in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise OSError
    return stream


def _import_path() -> Sequence[str]:
    """Where this process imports from, but for the current folder, in which a stranger's `json.py` may lie."""
    own = str(Path(__file__).parents[2])
    here = os.getcwd()  # noqa: PTH109  compared with strings
    given = [os.path.abspath(entry) for entry in sys.path if entry]  # noqa: PTH100  an entry may be a zip file
    return [*(entry for entry in given if entry != here), own]


def _document(kind: bytes, answer: bytes) -> ParsedDocument:
    """The document of an answer, or its failure raised. Neither is believed."""
    try:
        if kind == b"D":
            return ParsedDocument.from_bytes(answer)
        failure = json.loads(answer[: _LONGEST_FAILURE + 1])
        reason, detail = failure["reason"], failure.get("detail")
        error = failure.get("error", "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        reason, detail, error = None, None, ""
    if reason not in FAILURE_REASONS or not isinstance(error, str):
        raise DocumentError("worker_died", "The parser's process gave an answer that is none.")
    if not isinstance(detail, str) or len(detail) > _LONGEST_FAILURE:
        shown = error if error.isidentifier() and len(error) < 100 else "unknown"
        detail = f"The parser failed ({shown})."
    raise DocumentError(reason, detail)

"""A worker process: loads the predictor once, then does what its parent asks until the pipe closes.

Child and parent talk in tuples of short strings, numbers and results; texts are read by the worker itself.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import longdoc.errors
from longdoc.errors import JobError, LongDocError
from longdoc.jobs.engines.base import check_fingerprint
from longdoc.jobs.job_plan import JobPlan, PartPlan
from longdoc.jobs.work import Predictor, answer_alone, part_documents, run_part
from longdoc.types import Document, DocumentFailure

__all__ = ["DEATHS_WHILE_LOADING", "WorkerProcess", "raise_reported"]

DEATHS_WHILE_LOADING = 5
"""So many workers in a row that die before their predictor is loaded are no accident."""

_POLL_SECONDS = 0.5


class WorkerProcess:
    """The parent's end of a worker.

    Attributes:
        part: the part it is at work on, None when idle.
        ready: whether its predictor is loaded.
    """

    def __init__(self, load: Callable[[], Predictor], plan: JobPlan, output: Path) -> None:
        # Spawned, never forked: a fork of a process with threads (torch, Arrow) may hang for ever.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, load, plan, output), name="longdoc-worker")
        self.process.start()
        theirs.close()
        self.part: PartPlan | None = None
        self.ready = False

    def ask(self, *message: Any) -> None:
        """Send a request. A worker that has died meanwhile is noticed by `receive`."""
        with suppress(OSError):
            self.connection.send(message)

    def receive(self, timeout: float = _POLL_SECONDS) -> tuple[Any, ...] | None:
        """The next message, or None when there is none yet.

        Raises:
            EOFError: the worker has died and has said all it had to say.
        """
        with suppress(OSError):  # a half-sent message of a dead worker
            if self.connection.poll(timeout):
                return tuple(self.connection.recv())
        if self.process.exitcode is not None and not self._poll():
            raise EOFError
        return None

    def _poll(self) -> bool:
        try:
            return self.connection.poll(0)
        except OSError:
            return False

    def cause_of_death(self) -> str:
        """`SIGKILL`, `SIGSEGV`, ... or `exit status 1`."""
        self.process.join()
        code = self.process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"

    def close(self) -> None:
        """End the worker, idle or not."""
        self.connection.close()
        self.process.kill()
        self.process.join()
        self.process.close()


def raise_reported(class_name: str, message: str) -> None:
    """Raise in the parent what a worker has reported.

    Raises:
        LongDocError: always; of the worker's class where it is one of ours.
    """
    kind = getattr(longdoc.errors, class_name, None)
    if isinstance(kind, type) and issubclass(kind, LongDocError) and kind is not longdoc.errors.DocumentError:
        raise kind(message)
    raise JobError(message)


def _serve(connection: Connection, load: Callable[[], Predictor], plan: JobPlan, output: Path) -> None:
    # Ctrl-C and a scheduler's SIGTERM reach the whole group; the parent decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold texts
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        predictor = load()
        check_fingerprint(predictor, plan)
        connection.send(("ready",))
        _obey(connection, predictor, plan, output)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has closed the pipe: nothing more to do
    except LongDocError as error:
        connection.send(("error", type(error).__name__, str(error)))
    except Exception as error:
        # Only the class leaves the process: a message may quote a text.
        connection.send(("error", "JobError", f"a worker stopped with {type(error).__name__}. Nothing was lost."))


def _obey(connection: Connection, predictor: Predictor, plan: JobPlan, output: Path) -> None:
    documents = _Alone(plan)
    while True:
        request, number, *rest = connection.recv()
        if request == "part":
            outcome = run_part(
                predictor, plan, plan.parts[number], output, lambda failed: connection.send(("document", failed))
            )
            connection.send(("part", outcome))
        else:
            connection.send(("alone", answer_alone(predictor, documents.get(plan.parts[number], rest[0]))))


class _Alone:
    """Single documents of a part, asked for in rising order, read in one pass."""

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._part = -1
        self._documents: Iterator[Document | DocumentFailure] = iter(())
        self._next = 0

    def get(self, part: PartPlan, ordinal: int) -> Document | DocumentFailure:
        if part.number != self._part or ordinal < self._next:
            self._part, self._next = part.number, 0
            self._documents = part_documents(self._plan, part)
        document = next(self._documents)
        for _ in range(ordinal - self._next):
            document = next(self._documents)
        self._next = ordinal + 1
        return document


def _die_with_parent() -> None:
    """A worker that outlives its parent would write into a folder that another run may own by now."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
    os._exit(1)

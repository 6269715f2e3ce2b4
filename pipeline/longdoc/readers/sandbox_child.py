"""The other end of the sandbox: a process that reads files from its standard input and answers with their texts.

    request   number of bytes of a JSON head (8 bytes, the highest first), the head, and as many bytes as it says
    answer    `D` (a document) or `F` (a failure), `+` (goes on) or `-` (ends now), number of bytes, the bytes

An empty answer `D+` says that the process is ready. Nothing else is ever written anywhere.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import threading
import time
from typing import Any, BinaryIO

from longdoc.errors import DocumentError
from longdoc.readers.confinement import allow_cpu_seconds, give_up, peak_memory
from longdoc.readers.encoding import repair_surrogates
from longdoc.readers.parsed import ParsedDocument

__all__ = ["ANSWER", "IDLE_STATUS", "REQUEST", "serve"]

REQUEST = struct.Struct(">Q")
ANSWER = struct.Struct(">ccQ")
IDLE_STATUS = 75
"""Exit status of a process that had nothing to do for a while."""
_IDLE_SECONDS = 60.0


def serve(memory_bytes: int) -> None:
    """Answer requests until the parent closes the pipe, or is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # what a library says may hold somebody's text
        os.dup2(silent, descriptor)
    watch = _Watch()
    give_up(memory_bytes)
    _answer(answers, b"D", b"+", b"")
    while len(length := requests.read(REQUEST.size)) == REQUEST.size:
        watch.idle_since = None
        head = json.loads(requests.read(*REQUEST.unpack(length)))
        data = requests.read(head["size"])
        allow_cpu_seconds(head["cpu_seconds"])
        kind, answer, exhausted = _parsed(head, data)
        del data
        last = exhausted or head["last"] or peak_memory() > memory_bytes // 2
        _answer(answers, kind, b"-" if last else b"+", answer)
        if last:
            return
        watch.idle_since = time.monotonic()


def _answer(answers: BinaryIO, kind: bytes, more: bytes, content: bytes) -> None:
    answers.write(ANSWER.pack(kind, more, len(content)))
    answers.write(content)
    answers.flush()


def _parsed(head: dict[str, Any], data: bytes) -> tuple[bytes, bytes, bool]:
    """The kind and the content of the answer, and whether this process should end."""
    try:
        document = importlib.import_module(head["parser"]).parse(data, head["settings"])
        content = _clean(document).to_bytes()
        if len(content) <= head["most"]:
            return b"D", content, False
        failure = {"reason": "too_large", "detail": f"The text takes more than {head['most']} bytes."}
    except DocumentError as error:
        failure = {"reason": error.reason, "detail": str(error)}
    except MemoryError:
        failure = {"reason": "memory_limit", "detail": "The document needs more memory than `read.sandbox` allows."}
    except (Exception, SystemExit) as error:
        failure = {"reason": "unreadable", "error": type(error).__name__}
    return b"F", json.dumps(failure).encode("ascii"), failure["reason"] == "memory_limit"


def _clean(document: ParsedDocument) -> ParsedDocument:
    text, repaired = repair_surrogates(document.text)
    if not repaired:
        return document
    remarks = {**document.remarks, "repaired_surrogates": repaired}
    return ParsedDocument(text, document.pages, document.sections, remarks)


class _Watch:
    """A thread that ends this process when the parent is gone, or when there was nothing to do for a minute."""

    def __init__(self) -> None:
        self.idle_since: float | None = time.monotonic()
        self._parent = os.getppid()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            time.sleep(1.0)
            since = self.idle_since
            if os.getppid() != self._parent:
                os._exit(1)
            if since is not None and time.monotonic() - since > _IDLE_SECONDS:
                os._exit(IDLE_STATUS)

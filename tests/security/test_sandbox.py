"""Parsers run in a process that may do anything: the document fails with a reason, its neighbours succeed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longdoc.errors import DocumentError
from longdoc.readers.sandbox import Sandbox, SandboxConfig
from longdoc.readers.syscalls import _MACHINES

LIMITS = SandboxConfig(
    memory_bytes=1 << 29, cpu_seconds=1, wall_seconds=6, max_text_bytes=1 << 20, files_per_process=1000
)
PARSER = "hostile_parsers"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox(LIMITS)
    yield box
    box.close()


def said(box: Sandbox, document: str) -> str:
    """The text, or `reason: sentence`."""
    try:
        return box.parse(PARSER, document.encode(), {}).text
    except DocumentError as error:
        return f"{error.reason}: {error}"


def test_one_process_answers_for_many_files(sandbox: Sandbox) -> None:
    first = said(sandbox, "pid")
    assert said(sandbox, "für 😀") == "😀"
    assert said(sandbox, "refuse") == "encrypted: It needs a password."
    assert said(sandbox, "fail secret") == "unreadable: The parser failed (ValueError)."
    assert said(sandbox, "pid") == first != str(os.getpid())


@pytest.mark.parametrize(
    ("document", "right"),
    [
        ("spin", "timeout: It took 1 seconds of computing."),
        ("allocate", "memory_limit: The document needs more memory than `read.sandbox` allows."),
        ("crash", "worker_died: The parser's process died twice (signal 11)."),
        ("exit 3", "worker_died: The parser's process died twice (exit status 3)."),
        ("long 99999999", "too_large: The text takes more than 1048576 bytes."),
        ("forge 442bffffffffffffffff", "too_large: The text takes more than 1048576 bytes."),
        ("forge 442b000000000000000358595a", "worker_died: The parser's process gave an answer that is none."),
    ],
)
def test_what_a_file_does_to_its_parser_is_its_own_failure(sandbox: Sandbox, document: str, right: str) -> None:
    assert said(sandbox, document) == right
    assert said(sandbox, "word after") == "after"


def test_a_parser_that_waits_for_ever_is_ended_by_the_clock() -> None:
    box = Sandbox(LIMITS.model_copy(update={"wall_seconds": 0.5}))
    try:
        assert said(box, "hang") == "timeout: It took longer than 0.5 seconds."
    finally:
        box.close()


def test_nothing_that_a_parser_prints_reaches_anybody(sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    assert said(sandbox, "print secret") == "printed"
    assert capfd.readouterr() == ("", "")


def test_a_parser_has_no_network_no_files_and_no_processes(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert said(sandbox, f"connect {server.getsockname()[1]}") == "PermissionError"
    assert said(sandbox, f"write {tmp_path / 'new'}") == "PermissionError"
    assert said(sandbox, f"remove {tmp_path / 'there'}") == "PermissionError"
    assert said(sandbox, "fork") == "PermissionError"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in _MACHINES, reason="the filter of system calls is Linux's"
)
def test_native_code_has_none_of_them_either(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    assert said(sandbox, f"native {tmp_path / 'there'}") == "[-1, -1, -1, -1, -1]"
    assert (tmp_path / "there").read_text() == "kept"


def test_a_parser_sees_no_secrets_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    box = Sandbox(LIMITS)
    try:
        assert "HF_TOKEN" not in said(box, "variables")
    finally:
        box.close()


def test_the_process_is_replaced_after_so_many_files() -> None:
    box = Sandbox(LIMITS.model_copy(update={"files_per_process": 2}))
    try:
        pids = [said(box, "pid") for _ in range(4)]
    finally:
        box.close()
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_what_the_starting_process_has_is_not_counted_to_the_parser() -> None:
    ballast = b"\x01" * (LIMITS.memory_bytes * 2 // 3)  # a loaded model, say; more than half of what a parser may have
    box = Sandbox(LIMITS)
    try:
        assert said(box, "pid") == said(box, "pid")
        assert said(box, "exit 3") == "worker_died: The parser's process died twice (exit status 3)."
    finally:
        box.close()
    assert ballast


def test_threads_take_turns(sandbox: Sandbox) -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(said(sandbox, f"word {n}")))  # type: ignore[misc]
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(n) for n in range(8)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc/self").exists() else True


def test_closing_reaps_and_the_process_ends_with_a_killed_parent() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from longdoc.readers.sandbox import *; import os\n"
        "print(Sandbox(SandboxConfig()).parse('hostile_parsers', b'pid', {}).text, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    orphan = int(finished.stdout)
    until = time.monotonic() + 30
    while alive(orphan) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(orphan)

    box = Sandbox(LIMITS)
    pid = int(said(box, "pid"))
    box.close()
    assert not alive(pid)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)

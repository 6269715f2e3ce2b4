"""Every place where a job makes something durable or visible: fail there, for the first call, the second, the third ...
until a run is untouched. After each, the same command ends with the bytes of an undisturbed run.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys

import pytest
from crash_kit import CHILD, PartReader, finish, start

from job_kit import final_files, load_echo, write_corpus
from longdoc.errors import CannotWriteError
from longdoc.jobs import JobConfig, run_job, verify_job

JOB = JobConfig(documents_per_part=4, max_failures=100)


@pytest.fixture
def whole(tmp_path):
    write_corpus(tmp_path / "in.jsonl", 12)
    run_job([tmp_path / "in.jsonl"], tmp_path / "whole", load_echo, job=JOB)
    return tmp_path / "in.jsonl", final_files(tmp_path / "whole")


def resume(source, output, expected):
    report = run_job([source], output, load_echo, job=JOB)
    assert final_files(output) == expected
    assert verify_job(output).documents == 12
    assert sorted(path.name for path in (output / ".work").iterdir()) == ["attempts.json", "lock"]
    return report


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_an_error_of_any_call_the_same_command_gives_the_same_bytes(whole, tmp_path, monkeypatch, code):
    source, expected = whole
    point, untouched = 0, False
    while not untouched:
        point += 1
        output = tmp_path / f"out-{point}"
        calls = []

        def failing(call, point=point, calls=calls):
            def counted(*arguments):
                calls.append(call.__name__)
                if len(calls) == point:
                    raise OSError(code, os.strerror(code))
                return call(*arguments)

            return counted

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing(os.fsync))
            patch.setattr(os, "replace", failing(os.replace))
            fault = None
            try:
                run_job([source], output, load_echo, job=JOB)
            except CannotWriteError as error:
                fault = error
        untouched = len(calls) < point
        if fault is not None:
            assert fault.exit_status == 74
            assert f"({errno.errorcode[code]})" in str(fault)
            assert "bytes are free there" in str(fault)
        resume(source, output, expected)
    # plan, manifest, and for each of three parts the part and the attempt before it: file, rename, folder
    assert point > 3 * (2 + 3 * 2)


def kill_at(point, source, output, *options):
    status, out, err = finish(start(source, output, "--fault", f"{point}:kill", *options))
    assert status in (0, -signal.SIGKILL), out + err
    return status == 0


@pytest.mark.parametrize("point", [1, 6, 11, 16, 21])
def test_after_a_kill_at_a_call_the_same_command_gives_the_same_bytes(whole, tmp_path, point):
    source, expected = whole
    assert not kill_at(point, source, tmp_path / "out")
    resume(source, tmp_path / "out", expected)


@pytest.mark.crash
@pytest.mark.parametrize("workers", [1, 2])
def test_after_a_kill_at_every_call_the_same_command_gives_the_same_bytes(whole, tmp_path, workers):
    source, expected = whole
    point, untouched = 0, False
    while not untouched:
        point += 1
        with PartReader(tmp_path / "out") as reader:
            untouched = kill_at(point, source, tmp_path / "out", "--workers", workers)
            resume(source, tmp_path / "out", expected)
        assert reader.faults == []
        shutil.rmtree(tmp_path / "out")
    assert point > 18 if workers == 1 else point > 9


@pytest.mark.crash
@pytest.mark.parametrize("kind", ["kill", "ENOSPC", "EIO"])
def test_a_fault_at_every_call_of_a_worker(whole, tmp_path, kind):
    source, expected = whole
    point, untouched = 0, False
    while not untouched:
        point += 1
        once = tmp_path / f"once-{point}"
        options = ("--workers", 2, "--fault", f"{point}:{kind}", "--fault-in-worker", once)
        status, _, err = finish(start(source, tmp_path / "out", *options))
        untouched = status == 0 and "a worker died" not in err
        if kind == "kill":
            assert status == 0, err
        elif not untouched:
            assert status == 74, err
            assert f"({kind})" in err
        resume(source, tmp_path / "out", expected)
        shutil.rmtree(tmp_path / "out")
    assert point > 3


@pytest.mark.crash
@pytest.mark.parametrize("call", ["rename", "fsync"])
def test_after_a_kill_by_the_kernel_at_every_system_call(whole, tmp_path, call):
    """The same from outside: strace kills at the n-th system call itself."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    source, expected = whole
    point, untouched = 0, False
    while not untouched:
        point += 1
        output = tmp_path / f"out-{point}"
        command = [strace, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
        command += ["-e", f"inject={call}:signal=SIGKILL:when={point}"]
        command += [sys.executable, str(CHILD), str(source), str(output)]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        finished = subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)
        if point == 1 and b"ptrace" in finished.stderr.lower():
            pytest.skip("strace may not trace here")
        untouched = finished.returncode == 0
        resume(source, output, expected)
    assert point > 6

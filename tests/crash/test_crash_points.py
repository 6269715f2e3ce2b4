"""Every place where a job opens, writes, makes durable or renames a file: fail there, for the first call, the second,
the third ... until a run is untouched. After each, the same command ends with the bytes of an undisturbed run.
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
from fault_layer import failing

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


@pytest.mark.parametrize(
    ("code", "engine"),
    [
        (errno.ENOSPC, "local"),
        pytest.param(errno.EIO, "local", marks=pytest.mark.crash),
        pytest.param(errno.ENOSPC, "accelerate", marks=pytest.mark.crash),
    ],
)
def test_after_an_error_of_any_call_the_same_command_gives_the_same_bytes(whole, tmp_path, code, engine):
    source, expected = whole
    job = JOB.model_copy(update={"engine": engine})
    point, untouched, seen = 0, False, set()
    while not untouched:
        point += 1
        output = tmp_path / f"out-{point}"
        fault = None
        with failing(output, point, code) as calls:
            try:
                run_job([source], output, load_echo, job=job)
            except CannotWriteError as error:
                fault = error
        untouched = len(calls) < point
        seen.update(calls[point - 1 :])
        if fault is not None:
            assert fault.exit_status == 74
            assert f"({errno.errorcode[code]})" in str(fault)
            assert "bytes are free there" in str(fault)
        else:  # what does without: the number in the lock, the counts of an earlier run
            assert untouched or calls[point - 1] in ("open", "write")
            assert final_files(output) == expected
        resume(source, output, expected)
    assert seen == {"open", "write", "fsync", "replace"}
    # plan, manifest, and for each of three parts the part and the attempt before it: file, bytes, rename, folder
    assert point > 5 * (2 + 3 * 2)


def kill_at(point, source, output, *options):
    status, out, err = finish(start(source, output, "--fault", f"{point}:kill", *options))
    assert status in (0, -signal.SIGKILL), out + err
    return status == 0


@pytest.mark.parametrize("point", [4, 11, 22, 26, 58])
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
    assert point > 40 if workers == 1 else point > 20


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
    assert point > 6


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

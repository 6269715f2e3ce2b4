"""`longdoc doctor`: each line says what is wrong and what to do about it."""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import json
import locale
import os
import resource
import shutil
import tempfile
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from longdoc.cli import app
from longdoc.cli.doctor import machine, software, trial
from longdoc.cli.doctor.finding import Finding, examine
from longdoc.errors import DataError
from longdoc.nn.compiled import library
from longdoc.nn.compiled.library import Kernels, Level
from longdoc.pipeline import Pipeline


@pytest.fixture(scope="module")
def model(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor") / "model"
    tiny_pipeline.save(folder)
    return folder


def doctor(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["doctor", *map(str, arguments)])


def test_a_machine_that_is_fit_gets_status_0(model: Path, tmp_path: Path) -> None:
    """This machine runs the tests, so nothing may fail on it; a warning may well be right."""
    done = doctor("--model", model, "--output", tmp_path)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert all(line.startswith(("ok   ", "warn ")) for line in lines[:-1])
    for name in ("python", "torch", "device", "threads", "open files", "UTF-8", "clock", "sandbox", "model", "output"):
        assert any(line[5:].startswith(f"{name}: ") for line in lines), name
    assert lines[-1].endswith(" to be looked at, 0 failed")
    assert list(tmp_path.iterdir()) == []
    assert "tenant" not in done.output


def test_compiled_attention_is_told_and_its_lack_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernels = Kernels(Path("attention.so"), Level.AVX2 | Level.AVX512, None)  # type: ignore[arg-type]
    monkeypatch.setattr(library, "library", lambda: (kernels, "equal to torch's"))
    found = {finding.name: finding for finding in software.devices()}["compiled attention"]
    assert (found.state, found.said, found.way_out) == ("ok", "AVX2, AVX512: equal to torch's", "")
    monkeypatch.setattr(library, "library", lambda: (None, "it was not compiled when this was installed"))
    for machine_name, state in (("x86_64", "warn"), ("AMD64", "warn"), ("aarch64", "ok")):
        monkeypatch.setattr(software.platform, "machine", lambda name=machine_name: name)
        found = {finding.name: finding for finding in software.devices()}["compiled attention"]
        assert (found.state, found.said) == (state, "none: it was not compiled when this was installed")
        assert ("(g++)" in found.way_out) is (state == "warn")


def test_as_json_and_with_what_fails(model: Path, tmp_path: Path) -> None:
    done = doctor("--model", tmp_path / "none", "--output", tmp_path / "none", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["fail"] == 2
    failed = {found["name"]: found for found in told["findings"] if found["state"] == "fail"}
    assert failed["output"]["said"] == f"{tmp_path / 'none'} is no folder"
    assert failed["output"]["way_out"] == "Name another folder."
    assert failed["model"]["way_out"] == "Name a model with `--model`."
    assert sum(told[state] for state in ("ok", "warn", "fail")) == len(told["findings"])


def named(findings: Iterator[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_a_library_that_is_too_old_or_absent_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "tokenizers":
            return "0.1"
        if name in ("pydantic", "pypdfium2", "ray"):
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert named(software.versions(), "tokenizers") == Finding(
        "tokenizers", "fail", "0.1, but must be >=0.22", 'Run: pip install "tokenizers>=0.22"'
    )
    assert named(software.versions(), "pydantic") == Finding(
        "pydantic", "fail", "is not installed", 'Run: pip install "pydantic>=2.10"'
    )
    assert named(software.extras(), "extra pdf") == Finding(
        "extra pdf", "warn", "absent (pypdfium2)", 'If you need it, run: pip install "longdoc[pdf]"'
    )
    assert named(software.extras(), "extra ray") == Finding(
        "extra ray", "warn", "absent (ray)", 'If you need it, run: pip install "longdoc[ray]"'
    )


def test_more_threads_than_cores_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert named(software.devices(), "threads") == Finding(
        "threads", "warn", "8 for 1 cores", "Set OMP_NUM_THREADS=1: more threads than cores take turns."
    )


def test_tight_limits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {resource.RLIMIT_NOFILE: 64, resource.RLIMIT_AS: 5_000_000_000, resource.RLIMIT_FSIZE: 1000}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (bounds[kind], bounds[kind]))
    monkeypatch.setattr(machine, "_free_memory", lambda: 500_000_000)
    assert [(found.state, found.said, found.way_out) for found in machine.limits()] == [
        ("warn", "at most 64", "Run: ulimit -n 256"),
        ("warn", "at most 5,000,000,000 bytes", "Run: ulimit -v unlimited"),
        ("warn", "at most 1,000 bytes", "Run: ulimit -f unlimited"),
        ("warn", "0.5 GB free", "End other programs, or use fewer `workers`: each needs about 1 GB for a small model."),
    ]


def test_another_language_and_a_clock_of_1970_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getpreferredencoding", lambda _: "ISO-8859-1")
    real = time.gmtime
    monkeypatch.setattr(time, "gmtime", lambda: real(0))
    assert [(found.name, found.state, found.said) for found in machine.language()] == [
        ("UTF-8", "warn", "text in ISO-8859-1"),
        ("clock", "warn", "says 1970"),
    ]


def tried(folder: Path) -> list[Finding]:
    return list(machine.folder_takes_files(folder, "output", "Name another."))


@pytest.mark.parametrize(
    ("call", "code"),
    [("fsync", errno.EIO), ("replace", errno.EXDEV), ("fsync", errno.ENOSPC), ("replace", errno.EROFS)],
)
def test_a_folder_that_takes_no_files_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    def failing(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, failing)
    (found,) = tried(tmp_path)
    assert (found.name, found.state, found.way_out) == ("output", "fail", "Name another.")
    assert found.said.startswith(f"{tmp_path} takes no files (")
    assert os.strerror(code) in found.said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_locks_or_room_or_with_another_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "total used free")(9, 9, 0))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    states = {found.name: (found.state, found.said) for found in tried(tmp_path)}
    assert states["output"] == ("fail", f"{tmp_path} has no file locks")
    assert states["output: room"] == ("warn", "0.0 GB free")
    assert states["output: clock"][0] == "warn"


def test_the_temporary_folder_is_the_one_that_python_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert next(found.said for found in machine.temporary_folder()) == (
        f"{tmp_path}: files are written, renamed and locked"
    )


def test_a_sandbox_that_cannot_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise DataError("the sandbox cannot be started")

    monkeypatch.setattr("longdoc.readers.formatted.parse_in_sandbox", broken)
    assert [(found.name, found.state) for found in trial.sandbox_works()] == [("sandbox", "fail")]


def test_a_model_that_answers_differently_or_not_at_all_fails(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter("ab")
    monkeypatch.setattr(Pipeline, "predict", lambda *_: [next(answers)])
    (found,) = trial.model_answers(str(model))
    assert (found.state, found.said) == ("fail", "32 wide, 1 layers; two answers to one text differ")
    monkeypatch.undo()
    monkeypatch.setattr(trial, "_SENTENCE", " ")
    (found,) = trial.model_answers(str(model))
    assert (found.state, found.said) == ("fail", "32 wide, 1 layers; fails with empty")


def test_an_examination_that_breaks_off_is_a_finding() -> None:
    def look() -> Iterator[Finding]:
        yield Finding("first", "ok", "seen")
        raise ValueError("something private")

    assert list(examine("things", look)) == [
        Finding("first", "ok", "seen"),
        Finding("things", "fail", "the examination broke off with ValueError", "Reinstall longdoc."),
    ]

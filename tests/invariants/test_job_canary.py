"""No word of a document is anywhere but in its input: not in streams, logs, plans, counts, leftovers or errors."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from job_kit import KILLS, NOT_FINITE, RAISES, EchoPredictor, write_corpus
from longdoc.errors import DuplicateIdError, LongDocError, PlanMismatchError
from longdoc.jobs import JobConfig, export_job, run_job, verify_job

CHILD = Path(__file__).resolve().parent.parent / "crash" / "job_child.py"


@pytest.fixture
def canary() -> str:
    return "canary" + secrets.token_hex(12)


def write_hostile(path: Path, canary: str) -> int:
    """Documents that fail in every way that a document can fail in a job, each with the canary in its text."""
    rows = write_corpus(path, 11, canary=canary)
    texts = [f"{KILLS} {canary}", f"{RAISES} {canary}", f"{NOT_FINITE} {canary}", canary, f"last {canary}"]
    with path.open("a", encoding="utf-8") as stream:
        for number, text in enumerate(texts):
            stream.write(json.dumps({"id": f"hostile-{number}", "text": text, "note": canary}) + "\n")
        stream.write('{"id": "torn", "text": "' + canary)
    return len(rows) + len(texts) + 1


def files_with(canary: str, folder: Path) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if canary in path.name or (path.is_file() and canary.encode() in path.read_bytes())
    ]


def start(source: Path, output: Path, *options: str | int) -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), str(source), str(output), "--max-attempts", "1", *map(str, options)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=dict(os.environ)
    )


def test_a_job_with_every_kind_of_failure_says_no_word_of_a_text(tmp_path, canary):
    """Debug logging is on; the document that kills takes a worker down, and the raised errors quote the text."""
    documents = write_hostile(tmp_path / "in.jsonl", canary)
    out, err = start(tmp_path / "in.jsonl", tmp_path / "out", "--workers", 2).communicate(timeout=120)
    assert "killed its worker" in err
    assert canary not in out + err
    assert files_with(canary, tmp_path) == ["in.jsonl"]
    report = verify_job(tmp_path / "out")
    assert report.documents == documents
    assert set(report.reasons) == {"empty", "non_finite_output", "unreadable", "worker_died"}
    for suffix in ("jsonl", "csv", "parquet"):
        export_job(tmp_path / "out", tmp_path / f"all.{suffix}")
    assert files_with(canary, tmp_path) == ["in.jsonl"]


def test_a_killed_job_leaves_no_word_of_a_text(tmp_path, canary):
    write_corpus(tmp_path / "in.jsonl", 60, canary=canary)
    child = start(tmp_path / "in.jsonl", tmp_path / "out", "--delay", "0.05")
    while not list((tmp_path / "out").glob("part-*")):
        time.sleep(0.01)
        assert child.poll() is None
    commands = "\0".join(path.read_text(errors="replace") for path in Path("/proc").glob(f"{child.pid}/cmdline"))
    os.killpg(child.pid, signal.SIGKILL)
    out, err = child.communicate()
    assert canary not in out + err + commands
    assert not (tmp_path / "out/_manifest.json").exists()
    assert files_with(canary, tmp_path) == ["in.jsonl"]


class WrongPredictor(EchoPredictor):
    """Leaves out a document."""

    def stream(self, documents):
        yield from list(super().stream(documents))[1:]


def everything_said(error: BaseException) -> str:
    """The message, the arguments, and those of every error behind it."""
    said = ""
    while error is not None:
        said += f"{error} {error!r} {error.args} {vars(error)}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return said


def test_errors_of_a_job_hold_neither_text_nor_id(tmp_path, canary):
    source, output = tmp_path / "in.jsonl", tmp_path / "out"
    row = json.dumps({"id": f"id-{canary}", "text": canary})
    errors = []

    def failing(kind, load=EchoPredictor):
        with pytest.raises(kind) as caught:
            run_job([source], output, load, job=JobConfig(documents_per_part=2))
        errors.append(caught.value)

    source.write_text(f"{row}\n{row}\n")
    failing(DuplicateIdError)
    source.write_text(f"{row}\n" + json.dumps({"id": "b", "text": canary}) + "\n")
    failing(LongDocError, WrongPredictor)
    run_job([source], output, EchoPredictor, job=JobConfig(documents_per_part=2))
    source.write_text(source.read_text().replace('"b"', '"c"'))
    failing(PlanMismatchError)
    assert len(errors) == 3
    assert all(canary not in everything_said(error) for error in errors)

"""`--dry-run`: a person sees what would be done, and the disk is as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longdoc.cli import app
from longdoc.cli.dry_run import told
from longdoc.jobs.forecast import Forecast
from longdoc.pipeline import Pipeline


@pytest.fixture(scope="module")
def model(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dry") / "model"
    tiny_pipeline.save(folder)
    return folder


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_a_dry_run_says_what_would_be_done_and_writes_nothing(command: str, model: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "text": "the tenant pays the rent"}\n{broken\n')
    place = ["--set", "prediction.precision.device=cpu", "--set", "prediction.precision.dtype=fp32"]
    arguments = [command, "--model", model, "--input", source, "--output", tmp_path / "out", "--dry-run", *place]
    finished = CliRunner().invoke(app, list(map(str, arguments)))
    assert finished.exit_code == 3, finished.output
    expected = [
        f"inputs: 1 of {source.stat().st_size} bytes",
        "documents: 2; 24 characters, 24 in the longest",
        "unreadable: 1 (unreadable: 1)",
        "tokens: about 5 in about 1 chunks, by a sample of 1 document",
        f"output: {tmp_path / 'out'}, new",
        r"parts: 1, 0 of them done; about \S+ \S+",
        "time: about 0 seconds in 1 worker of the measured speed",
        r"memory: about \S+ [MG]B",
        "nothing was written; the job would end with status 3",
    ]
    for line, pattern in zip(finished.stdout.splitlines(), expected, strict=True):
        assert line == pattern or re.fullmatch(pattern, line), line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]
    done = CliRunner().invoke(app, [*map(str, arguments[:7]), *place, "--max-failures", "1"])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, [*map(str, arguments), "--max-failures", "1", "--set", "job.documents_per_part=9"])
    assert again.exit_code == 2
    assert "would be refused: " in again.stdout
    assert again.stdout.endswith("nothing was written; the job would be refused\n")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, "unknown, since nothing in the sample was answered"), (3.2, "about 3 seconds"), (600, "about 10.0 minutes"),
     (9000, "about 2.5 hours"), (1e6, "about 11.6 days")],
)  # fmt: skip
def test_times_are_said_in_units_that_people_use(seconds: float | None, said: str) -> None:
    lines = list(told(Forecast(seconds=seconds, input_bytes=2_500_000_000, memory_bytes=999), Path("out")))
    assert f"time: {said} in 1 worker of the measured speed" in lines
    assert "inputs: 0 of 2.5 GB" in lines
    assert "memory: about 999 bytes" in lines

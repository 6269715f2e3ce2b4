"""No word of a document leaves the process except into the results that were asked for."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.usefixtures("minilm_folder")


@pytest.fixture(scope="module")
def canary() -> str:
    return "canary" + secrets.token_hex(9)


def run(canary: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever happens, neither of its streams may hold the canary."""
    finished = subprocess.run(
        [sys.executable, "-m", "longdoc", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert canary not in finished.stdout
    assert canary not in finished.stderr
    assert "Traceback" not in finished.stderr, "faults of users end in one line"
    return finished


def files_with(canary: str, folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*")):
        if canary in path.name or (path.is_file() and canary.encode() in path.read_bytes()):
            found.append(path.relative_to(folder).as_posix())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, canary: str) -> Path:
    folder = tmp_path_factory.mktemp("canary")
    (folder / "input").mkdir()
    with (folder / "input" / "train.jsonl").open("w") as file:
        for number in range(8):
            text = f"{['cat', 'tree'][number % 2]} {canary} " * (1 + number)
            file.write(json.dumps({"id": f"n{number}", "text": text, "label": ["x", "y"][number % 2]}) + "\n")
    finished = run(canary, "train", "--config", ROOT / "configs" / "debug_tiny.yaml",
                   "--data", folder / "input" / "train.jsonl", "--validation", folder / "input" / "train.jsonl",
                   "--set", "data.allow_shared_ids=true", "--output", folder / "model")  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    return folder


def test_training_leaves_no_text_behind(folder: Path, canary: str) -> None:
    assert files_with(canary, folder / "model") == []


def test_a_job_with_every_kind_of_bad_line_leaves_no_text_behind(folder: Path, canary: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(
        b"\n".join(
            [
                json.dumps({"id": "fine", "text": canary}).encode(),
                b'{"id": "broken", "text": "' + canary.encode(),
                json.dumps([canary]).encode(),
                json.dumps({"id": "number", "text": 5, "other": canary}).encode(),
                json.dumps({"id": "null", "text": None, "other": canary}).encode(),
                b'{"id": "bytes", "text": "' + canary.encode() + b'\xff"}',
                json.dumps({"id": "blank", "text": "   "}).encode(),
                json.dumps({"id": "span", "text": canary, "spans": [{"start": 5, "end": 2, "label": "x"}]}).encode(),
            ]
        )
    )
    finished = run(canary, "predict", "--model", folder / "model", "--input", bad, "--output", tmp_path / "out")
    assert finished.returncode == 3, finished.stderr
    assert files_with(canary, tmp_path / "out") == []
    assert run(canary, "verify", tmp_path / "out").returncode == 0
    run(canary, "export", tmp_path / "out", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows].count("ok") == 2, "a wrong span beside a text does not stop its prediction"
    assert len(rows) == 8
    assert files_with(canary, tmp_path) == ["bad.jsonl"]


@pytest.mark.parametrize(
    "content",
    [
        '{{"id": "a", "text": "{canary}"}}\n',  # no label
        pytest.param('{{"id": "a", "text": "{canary}", "label": ["{canary}"]}}\n', marks=pytest.mark.slow),
        pytest.param('{{"id": "a", "text": "{canary}", "label": "x"}}\n{{"text": "{canary}\n', marks=pytest.mark.slow),
        pytest.param('{{"id": "a", "other": "{canary}"}}\n', marks=pytest.mark.slow),
        '{{"id": "a", "text": "{canary}", "spans": "{canary}"}}\n',
    ],
)
def test_bad_training_data_is_refused_without_showing_it(content: str, canary: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(content.format(canary=canary))
    finished = run(canary, "train", "--config", ROOT / "configs" / "debug_tiny.yaml", "--data", path,
                   "--output", tmp_path / "model")  # fmt: skip
    assert finished.returncode == 2
    assert finished.stderr.startswith("longdoc: ")


def test_a_canary_in_the_configuration_is_not_shown(canary: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(f"training: {{learning_rate: {canary}}}\n")
    finished = run(canary, "train", "--config", tmp_path / "c.yaml", "--data", "x", "--output", tmp_path / "m")
    assert finished.returncode == 2
    assert "`training.learning_rate`" in finished.stderr


@pytest.mark.slow
def test_inspecting_shows_numbers_only(folder: Path, canary: str) -> None:
    for kind in ("lengths", "chunks"):
        for more in ([], ["--json"]):
            finished = run(canary, "inspect", kind, "--input", folder / "input" / "train.jsonl", *more)
            assert finished.returncode == 0, finished.stderr


def test_values_of_our_types_do_not_print_text(canary: str) -> None:
    from longdoc.types import Document, DocumentFailure, DocumentPrediction

    for value in (
        Document(id=canary, text=canary, label="x"),
        DocumentFailure(id=canary, reason="empty"),
        DocumentPrediction(id=canary),
    ):
        assert canary not in repr(value)
        assert canary not in str(value)

"""What people outside rely on: names, commands, configuration files, start-up time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import longdoc
from longdoc.config import load_config
from longdoc.types import DocumentFailure, DocumentPrediction

ROOT = Path(__file__).resolve().parent.parent.parent

ROW = ["id", "status", "reason", "label", "score", "labels", "value", "spans", "n_tokens", "n_chunks", "tokens_read",
       "unknown_share", "evidence"]  # fmt: skip


def test_public_names() -> None:
    assert longdoc.__all__ == [
        "Document",
        "DocumentFailure",
        "DocumentPrediction",
        "LongDocError",
        "LongDocumentClassifier",
        "Pipeline",
        "RunConfig",
        "__version__",
        "load_config",
        "pretrain",
        "to_table",
        "train",
    ]
    for name in longdoc.__all__:
        assert getattr(longdoc, name) is not None
    with pytest.raises(AttributeError, match=r"^module 'longdoc' has no attribute 'nothing'$"):
        _ = longdoc.nothing


def test_the_row_of_a_prediction() -> None:
    assert list(DocumentPrediction(id="a").to_dict()) == ROW
    assert list(DocumentFailure(id="a", reason="empty").to_dict()) == ROW
    json.dumps(DocumentPrediction(id="a").to_dict())


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "longdoc", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_every_command_of_the_contract_is_there() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for command in (
        "train",
        "predict",
        "verify",
        "export",
        "evaluate",
        "explain",
        "inspect",
        "embed",
        "doctor",
        "import-checkpoint",
    ):
        assert f"  {command}" in shown.stdout, command


@pytest.mark.parametrize(
    "command", ["train", "predict", "verify", "export", "evaluate", "explain", "embed", "doctor", "import-checkpoint"]
)
def test_every_command_shows_an_example(command: str) -> None:
    shown = run(command, "--help")
    assert shown.returncode == 0
    assert f"Example: longdoc {command}" in " ".join(shown.stdout.split())


def test_help_imports_nothing_heavy() -> None:
    """What makes `longdoc --help` quick, without a clock: torch alone takes seconds."""
    code = (
        "import sys; from longdoc.cli import app; "
        "print([m for m in ('torch', 'transformers', 'datasets', 'pyarrow', 'numpy', 'pydantic') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_wrong_option_is_status_2_and_starts_nothing(tmp_path: Path) -> None:
    finished = run("predict", "--model", str(tmp_path), "--input", "x", "--output", str(tmp_path / "o"),
                   "--set", "chunking.sise=3")  # fmt: skip
    assert finished.returncode == 2
    assert finished.stderr == ("longdoc: `chunking.sise` is not a configuration key. Did you mean `chunking.size`?\n")
    assert not (tmp_path / "o").exists()
    assert run("predict").returncode == 2


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_every_configuration_file_loads(path: Path) -> None:
    load_config(path)


def test_the_accelerate_files_load() -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    for path in (ROOT / "configs" / "accelerate").glob("*.yaml"):
        assert load_config_from_file(str(path)).num_processes >= 1

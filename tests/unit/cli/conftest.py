"""Commands run inside the test's process: no start-up of torch for each of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from longdoc.cli import app
from longdoc.pipeline import Pipeline

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Call a command; `result.output` holds both streams."""

    def call(*arguments: object, expect: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        assert result.exit_code == expect, result.output
        return result

    return call


@pytest.fixture(scope="session")
def model(tiny_pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with chunks of 32 tokens that share 8, and three labels; untrained."""
    folder = tmp_path_factory.mktemp("cli") / "model"
    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(folder, "# A card\n")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six labelled documents of several chunks."""
    path = tmp_path / "data.jsonl"
    labels = ["contract", "letter", "notice"]
    rows = [{"id": f"d{n}", "text": f"the {labels[n % 3]} number {n} " * 12, "label": labels[n % 3]} for n in range(6)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path

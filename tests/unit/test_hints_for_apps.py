"""An app that checks its types can tell an answer from a failure by `ok`, as the documentation does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

APP = """
from collections.abc import Iterable

from longdoc.types import DocumentEmbedding, DocumentFailure, DocumentPrediction


def unsure(results: Iterable[DocumentPrediction | DocumentFailure]) -> list[str]:
    found = []
    for result in results:
        if result.ok:
            if (result.score or 0.0) < 0.5:
                found.append(result.id)
        elif result.reason == "empty":
            found.append(result.detail)
    return found


def first(results: Iterable[DocumentEmbedding | DocumentFailure]) -> list[float]:
    for result in results:
        if not result.ok:
            raise ValueError(result.reason)
        return [float(number) for number in result.vector]
    return []
"""


@pytest.mark.slow
@pytest.mark.parametrize(("app", "said"), [(APP, ""), (APP.replace("if result.ok", "if result"), '"DocumentFailure"')])
def test_ok_tells_answers_from_failures(tmp_path: Path, app: str, said: str) -> None:
    pytest.importorskip("mypy", reason="mypy is for developers")
    (tmp_path / "app.py").write_text(app)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "app.py"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (checked.returncode == 0) == (not said), checked.stdout
    assert said in checked.stdout

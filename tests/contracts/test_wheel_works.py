"""The package works without its checkout: built, installed into an environment of its own, used from another folder."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from longdoc.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_works_without_the_checkout(tiny_pipeline: Pipeline, tmp_path: Path) -> None:
    source, elsewhere = tmp_path / "source", tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree(ROOT / "pipeline", source / "pipeline", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source, folder=elsewhere)
    shutil.rmtree(source)
    venv.create(tmp_path / "bare", with_pip=False)
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    (wheel,) = wheels.glob("longdoc-*.whl")
    run(*pip, "install", "--no-deps", "--no-index", "--quiet", "--target", packages, wheel, folder=elsewhere)
    # What it needs is here already; the checkout, which is installed here by its path, is not to be found that way.
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    python = tmp_path / "bare" / "bin" / "python"
    where = run(python, "-c", "import longdoc; print(longdoc.__file__)", folder=elsewhere).strip()
    assert Path(where).is_relative_to(packages)
    assert (packages / "longdoc" / "py.typed").is_file()
    assert "Commands:" in run(python, "-m", "longdoc", "--help", folder=elsewhere)

    Pipeline(tiny_pipeline.model, tiny_pipeline.settings, tiny_pipeline.tokenizer).save(elsewhere / "model")
    (elsewhere / "letter.txt").write_text("the tenant shall pay the rent " * 20)
    run(python, "-m", "longdoc", "predict", "--model", "model", "--input", "letter.txt", "--output", "out",
        folder=elsewhere)  # fmt: skip
    run(python, "-m", "longdoc", "export", "out", "answers.jsonl", folder=elsewhere)
    (row,) = [json.loads(line) for line in (elsewhere / "answers.jsonl").read_text().splitlines()]
    assert row["status"] == "ok"
    run(python, "-m", "longdoc", "explain", "--model", "model", "--input", "letter.txt", "--output", "report.html",
        folder=elsewhere)  # fmt: skip
    assert "<!DOCTYPE html>" in (elsewhere / "report.html").read_text()

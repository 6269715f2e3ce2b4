"""`longdoc evaluate`: what it writes, and what it leaves out unless it is asked for."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from longdoc.cli.evaluate import evaluate


def test_the_report_holds_no_text_unless_it_is_asked_for(run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "out", "--evidence", 2)
    report = (tmp_path / "out" / "report.html").read_text()
    assert result.output.splitlines()[-1].endswith(f"report in {tmp_path / 'out' / 'report.html'}")
    assert "number 3" not in report
    assert not (tmp_path / "out" / "errors").exists()
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["places_are"] == "evidence"
    assert sum(group["items"] for group in metrics["by_place"]) == 2
    assert sum(group["items"] for group in metrics["by_length"]) == 6
    wrong = metrics["surprising_errors"]
    assert len(wrong) == 6 - round(6 * metrics["accuracy"])

    run("evaluate", "--model", model, "--data", data, "--output", tmp_path / "texts", "--evidence", 0, "--texts")
    pages = sorted((tmp_path / "texts" / "errors").iterdir())
    assert [page.name for page in pages] == [f"{n:02d}.html" for n in range(1, len(wrong) + 1)]
    assert f"number {wrong[0]}" in pages[0].read_text()
    assert 'href="errors/01.html"' in (tmp_path / "texts" / "report.html").read_text()
    assert "Nobody knows" in (tmp_path / "texts" / "report.html").read_text()
    usual = inspect.signature(evaluate).parameters["evidence"].default
    assert f"<code>--evidence {usual}</code> explains a sample" in (tmp_path / "texts" / "report.html").read_text()


def test_a_folder_with_other_files_is_refused_and_that_of_an_earlier_evaluation_is_not(
    run, model: Path, data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    command = ("evaluate", "--model", model, "--data", data, "--output", folder, "--evidence", 0, "--texts")
    for _ in range(2):
        run(*command)
        (folder / ".report.html.1-00000000.tmp").write_text("what a killed run left")
    (folder / "mine.txt").write_text("mine")
    refused = run(*command, expect=2)
    assert refused.output == (
        f"longdoc: `output` must be a new folder, an empty one or one of an earlier evaluation, but {folder} holds 1 "
        "other file. Name another folder.\n"
    )

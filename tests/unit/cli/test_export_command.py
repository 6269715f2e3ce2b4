"""`longdoc export`: where its file may lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from reader_kit import write


@pytest.fixture
def job(run, model: Path, tmp_path: Path) -> Path:
    write(tmp_path / "in" / "a.txt", "12 14")
    run("predict", "--model", model, "--input", tmp_path / "in", "--output", tmp_path / "out")
    return tmp_path / "out"


def test_no_folder_of_a_model_or_a_job_takes_an_export(run, model: Path, job: Path, tmp_path: Path) -> None:
    (job / "deep").mkdir()
    other = write(tmp_path / "other" / "_plan.json", "{}").parent
    places = ((job, job, "job"), (job / "deep", job, "job"), (other, other, "job"), (model, model, "model"))
    for place, folder, what in places:
        before = sorted(place.iterdir())
        told = run("export", job, place / "rows.csv", expect=2).output
        assert told == (
            f"longdoc: `file` must lie apart from models and jobs, but {place / 'rows.csv'} lies in {folder}, the "
            f"folder of a {what}. Name another place, beside it.\n"
        )
        assert sorted(place.iterdir()) == before
    assert run("export", job, tmp_path / "rows.csv").output == f"1 row in {tmp_path / 'rows.csv'}\n"

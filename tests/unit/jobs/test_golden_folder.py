"""Folders of version 1 stay readable. Never regenerate them: a change that breaks this test breaks users' files.

`golden_v1` was written with pyarrow 26.0.1 from seven documents, two of them failures; `golden_v1_rows.jsonl` are its
rows, checked by eye when it was made.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from longdoc.jobs import export_job, verify_job

HERE = Path(__file__).parent


@pytest.fixture
def golden(tmp_path):
    return Path(shutil.copytree(HERE / "golden_v1", tmp_path / "golden"))


def test_a_folder_of_version_1_passes(golden):
    report = verify_job(golden)
    assert (report.documents, report.failed, report.parts) == (7, 2, 2)
    assert report.reasons == {"empty": 1, "unreadable": 1}


def test_a_folder_of_version_1_exports_to_the_same_rows(golden, tmp_path):
    assert export_job(golden, tmp_path / "rows.jsonl") == 7
    assert (tmp_path / "rows.jsonl").read_bytes() == (HERE / "golden_v1_rows.jsonl").read_bytes()

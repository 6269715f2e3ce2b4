"""The benchmark's own arithmetic: who is how many times as fast, how near, and what is said of who was not measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    assert sys.path[0] == str(SCRIPTS)


def measured(seconds: list[float], tokens: int, **more: object) -> object:
    from benchmarks.alternate import Measured

    return Measured(seconds=seconds, cpu_seconds=[2 * s for s in seconds], told={"tokens": tokens} | more, peak_mb=300)


def test_rates_ratios_shares_and_cosines(tmp_path: Path) -> None:
    from benchmarks.alternate import Candidate
    from benchmarks.report import report

    np.save(tmp_path / "a.npy", np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32))
    np.save(tmp_path / "b.npy", np.array([[3.0, 4.0], [0.0, 1.0]], dtype=np.float32))
    candidates = [
        Candidate("ours", "m:f", options={"vectors": str(tmp_path / "a.npy")}),
        Candidate("transformers fp32, by length", "m:f", options={"vectors": str(tmp_path / "b.npy")}),
        Candidate("ceiling: products", "m:f"),
        Candidate("absent", "m:f"),
    ]
    found = {
        "ours": measured([1.0, 2.0, 4.0], 100, chose="cpu-fp32"),
        "transformers fp32, by length": measured([4.0], 100),
        "ceiling: products": measured([1.0], 200, peak_mb=7, above_mb=5),
        "absent": type(measured([], 1))(fault="not installed: absent"),
    }
    ours, theirs, ceiling, absent = report("encode", candidates, found, threads=2, rounds=3)["rows"]  # type: ignore[arg-type]
    assert (ours["rate"], ours["lowest"], ours["highest"], ours["ratio"]) == (50, 25, 100, 1)
    assert (ours["cpu_seconds"], ours["peak_mb"], ours["chose"]) == (4, 300, "cpu-fp32")
    assert (theirs["ratio"], theirs["ceiling_share"]) == (2, 0.125)
    assert ours["lowest_cosine"] == pytest.approx(0.6)
    assert theirs["lowest_cosine"] == pytest.approx(1)
    assert (ceiling["peak_mb"], ceiling["above_mb"]) == (7, 5)
    assert absent == {"name": "absent", "fault": "not installed: absent"}


def test_the_table_has_a_row_for_each_and_no_empty_column() -> None:
    from benchmarks.report import table

    row = {"rate": 1234.5, "lowest": 1000, "highest": 1500, "seconds": 2, "cpu_seconds": 3, "ratio": 1.0}
    result = {
        "suite": "tokenize", "date": "2026-01-02", "machine": "m", "threads": 2, "rounds": 5, "python": "3",
        "versions": {"longdoc": "1"},
        "rows": [{"name": "a", "peak_mb": 20, "above_mb": 5, **row}, {"name": "b", "fault": "not installed: b"}],
    }  # fmt: skip
    assert table(result).splitlines() == [
        "tokenize, 2026-01-02: m, 2 threads, medians of 5 rounds; Python 3, longdoc 1",
        "",
        "| | tokens/s | lowest to highest | seconds (of cores) | first / this | peak MB (of it for the work) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| a | 1,234 | 1,000 to 1,500 | 2.00 (3.00) | 1.00 | 20 (5) |",
        "| b | not installed: b |  |  |  |  |",
    ]


def test_who_cannot_be_measured_says_why_and_stops_nobody() -> None:
    from benchmarks.alternate import Candidate, alternate

    found = alternate(
        [
            Candidate("left out", "nowhere:nothing", left_out="left out: not on this machine"),
            Candidate("absent", "nowhere:nothing", needs=("a_package_that_is_not_there",)),
            Candidate("broken", "nowhere:nothing"),
        ],
        rounds=1,
        threads=1,
    )
    assert {name: one.fault for name, one in found.items()} == {
        "left out": "left out: not on this machine",
        "absent": "not installed: a_package_that_is_not_there",
        "broken": "ModuleNotFoundError: No module named 'benchmarks.nowhere'",
    }


def test_each_suite_compares_ours_with_somebody_and_names_no_two_alike() -> None:
    from benchmarks.suites import SUITES

    assert set(SUITES) == {"encode", "tokenize", "determinism", "train", "predict", "scale"}
    for suite in SUITES.values():
        for quick in (True, False):
            names = [candidate.name for candidate in suite.candidates(quick, None)]
            assert len(set(names)) == len(names) >= 2

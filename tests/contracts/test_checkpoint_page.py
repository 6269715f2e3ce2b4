"""The page about checkpoints names every family, with numbers that keep the promise."""

from __future__ import annotations

import re
from pathlib import Path

from family_measures import FLOAT32, FLOAT64
from longdoc.checkpoints.opening import FAMILIES

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "checkpoints.md").read_text(encoding="utf-8")


def rows() -> dict[str, list[float | None]]:
    """The measured table: four numbers a family, None for a dash."""
    table = PAGE.partition("<!-- measured: begin -->")[2].partition("<!-- measured: end -->")[0]
    found = re.findall(r"^\| `([^`]+)` \| ([\d-].*) \|$", table, re.MULTILINE)
    return {name: [None if n == "-" else float(n) for n in numbers.split(" | ")] for name, numbers in found}


def test_every_family_is_measured_and_within_its_bounds() -> None:
    measured = rows()
    assert list(measured) == list(FAMILIES)
    for family, (states, exact, classifier, tagger) in measured.items():
        assert states is not None
        assert exact is not None
        assert exact <= FLOAT64.get(family, 1e-10)
        for found in (states, classifier, tagger):
            assert found is None or found <= FLOAT32.get(family, 1e-5)
        assert (tagger is None) == (FAMILIES[family].tagger is None)


def test_every_family_is_explained() -> None:
    families = PAGE.partition("## Families")[2].partition("## How equal")[0]
    cells = re.findall(r"^\| (`.+?) \|", families, re.MULTILINE)
    named = {name for cell in cells for name in re.findall("`(.+?)`", cell)}
    assert named - {"model_type"} == set(FAMILIES)

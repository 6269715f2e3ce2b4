"""The first block of the README does what the page says, word for word."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_folder")
def test_the_first_block_prints_what_stands_below_it() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    block, printed = re.search(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL).groups()  # type: ignore[union-attr]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert told.getvalue() == printed

"""The page about vectors: its program prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "embeddings.md"


@pytest.mark.usefixtures("minilm_folder")
def test_the_program_prints_what_the_page_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    ((program, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert finished.stdout == expected, finished.stderr

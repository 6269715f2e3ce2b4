"""With the row cache a step takes no more memory for a document of 128 chunks than for one of 8, through MiniLM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "training_memory.py"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc")
@pytest.mark.usefixtures("minilm_folder")
def test_memory_of_the_row_cache_is_flat_where_the_full_graph_grows(tmp_path: Path) -> None:
    found = tmp_path / "memory.json"
    # At most 1000 MB a step: so the full graph is measured at 8 and 16 chunks, and not at 128.
    cut = ["--size", "64", "--micro-batch", "4"]
    wishes = [*cut, "--points", "8", "16", "128", "--repeated", "0", "--limit", "1000", "--json", str(found)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, str(SCRIPT), *wishes], check=True, capture_output=True, env=environment)
    rows = {(row["way"], row["chunks"]): row for row in json.loads(found.read_text())["rows"]}
    assert rows["row cache", 128]["megabytes"] <= 1.10 * rows["row cache", 8]["megabytes"]
    assert rows["full graph", 16]["megabytes"] >= 1.3 * rows["full graph", 8]["megabytes"], "the measure sees growth"
    assert ("full graph", 128) not in rows

"""Memory does not grow with the corpus, and with a long text only by the text itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from job_kit import EchoPredictor
from longdoc.jobs import JobConfig, run_job, verify_job
from longdoc.types import DocumentPrediction

class Nothing:
    fingerprint = "nothing"
    def stream(self, documents):
        for document in documents:
            yield DocumentPrediction(id=document.id, label="a", score=1.0)

source, output = Path(sys.argv[2]), Path(sys.argv[3])
report = run_job([source], output, Nothing, job=JobConfig(documents_per_part=500))
assert verify_job(output).documents == report.documents == int(sys.argv[4])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def peak(tmp_path: Path, documents: int) -> int:
    """Bytes of resident memory at the peak of planning, running and verifying."""
    source = tmp_path / f"{documents}.jsonl"
    with source.open("w") as stream:
        for number in range(documents):
            stream.write(f'{{"id": "document-{number:09d}", "text": "some text"}}\n')
    finished = subprocess.run(
        [sys.executable, "-c", MEASURE, str(Path(__file__).parent.parent), str(source), str(tmp_path / f"o{documents}"),
         str(documents)],
        capture_output=True,
        text=True,
        check=False,
        # One arena and one pool, or the spread of the allocators' own caches hides the slope.
        env=os.environ | {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    return int(finished.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("few", "many", "bound"),
    [
        (10_000, 60_000, 30),  # the 8 bytes of an id, the plan, and the unsteadiness of a short run
        (50_000, 200_000, 20),
    ],
)
def test_more_documents_take_no_more_memory_than_the_hash_of_an_id(tmp_path, few, many, bound):
    slope = (peak(tmp_path, many) - peak(tmp_path, few)) / (many - few)
    assert slope < bound, f"{slope:.1f} bytes a document"


@pytest.mark.slow
def test_a_longer_text_takes_no_more_memory_than_its_characters(tmp_path):
    script = Path(__file__).parents[2] / "scripts" / "job_figures.py"
    finished = subprocess.run(
        [sys.executable, str(script), "text", "--megabytes", "2", "10"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
    )
    assert finished.returncode == 0, finished.stderr  # it compares the tokens that were read with those that there are
    few, many = map(json.loads, finished.stdout.splitlines())
    slope = (many["peak_megabytes"] - few["peak_megabytes"]) / (many["megabytes"] - few["megabytes"])
    assert slope < 2.0, f"{slope:.2f} bytes for a character of ASCII"

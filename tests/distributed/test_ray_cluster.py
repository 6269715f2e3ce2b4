"""A cluster of Ray that runs already is used, whatever becomes of a job, and goes on running; workers with a document
that kills are found out, and nothing of a document is in what Ray keeps."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from job_kit import KILLS, RAISES, final_files, load_echo, write_documents
from longdoc.jobs import JobConfig, run_job
from longdoc.jobs.parts import read_part

pytest.importorskip("psutil", reason="the processes of a job are found with psutil")

from engine_kit import Job

pytestmark = [
    pytest.mark.distributed,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed; it is in the extra `ray`"),
]
CANARY = "canary-7f3e9b1c5d2a"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, Path]]:
    """A head node with three CPUs, that asks for a token; its address and its folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "5" * 64)
    tests = str(Path(__file__).resolve().parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([tests, *filter(None, sys.path)]))
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        head = start_head(port, folder)
        try:
            yield f"127.0.0.1:{port}", Path(folder)
            assert head.poll() is None, "jobs leave it running"
        finally:
            os.killpg(head.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                head.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(head.pid, signal.SIGKILL)
            head.communicate()
            monkeypatch.undo()


def start_head(port: int, folder: str) -> subprocess.Popen[str]:
    """On a busy machine Ray may not start at once."""
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block",
               f"--port={port}", "--num-cpus=3", "--include-dashboard=false", "--disable-usage-stats",
               f"--temp-dir={folder}"]  # fmt: skip
    said = ""
    for _ in range(3):
        head = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert head.stdout is not None
        for line in head.stdout:
            if "Ray runtime started" in line:
                return head
            said += line
        with suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
        head.communicate()
    pytest.fail(said)


def test_a_cluster_is_used_and_left_and_a_document_that_kills_has_the_row_of_the_local_engine(cluster, tmp_path):
    address, folder = cluster
    texts = [f"text {number} {CANARY}" for number in range(24)]
    texts[4], texts[9] = f"{KILLS} {CANARY}", f"{RAISES} {CANARY}"
    write_documents(tmp_path / "in.jsonl", texts)
    local = JobConfig(workers=2, documents_per_part=4, max_failures=100)
    run_job([tmp_path / "in.jsonl"], tmp_path / "local", load_echo, job=local)
    with Job("ray", tmp_path / "in.jsonl", tmp_path / "out", 0, ray={"address": address}) as job:
        status, said = job.finish()
    assert status == 0, said
    assert final_files(tmp_path / "out") == final_files(tmp_path / "local")
    rows = read_part(tmp_path / "out/part-00001.parquet").to_pylist()
    assert [row["error"] for row in rows] == ["SIGKILL", None, None, None]
    kept = [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert kept == [], "no word of a document"
    assert CANARY not in said
    with Job("ray", tmp_path / "in.jsonl", tmp_path / "out2", 0, ray={"address": address, "cpus_per_worker": 2}) as job:
        status, said = job.finish()
    assert status == 2
    assert "UsageError: `workers` must be at most 1, since each takes 2 of the cluster's 3 CPUs" in said


CONNECTED = """
import sys, ray
from job_kit import load_echo
from longdoc.jobs import JobConfig, run_job
ray.init(sys.argv[1], log_to_driver=False)
print(run_job([sys.argv[2]], sys.argv[3], load_echo, job=JobConfig(engine="ray")).documents, ray.is_initialized())
"""


def test_a_ray_that_the_process_is_connected_to_is_used_and_left(cluster, tmp_path):
    address, _ = cluster
    write_documents(tmp_path / "in.jsonl", ["one", "two"])
    command = [sys.executable, "-c", CONNECTED, address, tmp_path / "in.jsonl", tmp_path / "out"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 True\n"

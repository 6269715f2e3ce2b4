"""`longdoc embed` from its arguments to its files: a job like that of predict, with vectors in its rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from job_kit import final_files
from longdoc.embedding import EmbeddingConfig, open_embedder
from longdoc.types import DocumentEmbedding

Run = Callable[..., Any]
CPU = ("--set", "prediction.precision.device=cpu", "--set", "prediction.precision.dtype=fp32")
TEXTS = ["The contract ends in May. " * 9, "A letter.", "", "Nobody pays the rent on time. " * 30, "Notice is given."]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "in.jsonl"


def rows_of(output: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(output.glob("part-*")) for row in pq.read_table(path).to_pylist()]


def test_vectors_of_a_model_folder_as_the_library_has_them(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    finished = run("embed", "--model", model, "--input", corpus, "--output", output, "--parts", "passages", *CPU,
                   "--max-failures", 1)  # fmt: skip
    assert finished.stdout == (
        f"5 documents, 1 failed (empty: 1); 1 part written, 0 found done; results in {output}; vectors of 32 numbers\n"
    )
    rows = rows_of(output)
    assert [(row["id"], row["reason"]) for row in rows] == [
        ("d0", None), ("d1", None), ("d2", "empty"), ("d3", None), ("d4", None),
    ]  # fmt: skip
    for row, found in zip(rows, open_embedder(model, EmbeddingConfig(parts="passages")).stream(TEXTS), strict=True):
        if isinstance(found, DocumentEmbedding):
            assert np.array_equal(np.array(row["vector"], dtype=np.float32), found.vector)
            assert [(p["start"], p["end"]) for p in row["parts"]] == [(p.start, p.end) for p in found.parts]
            assert row["tokens_read"] == row["n_tokens"] == found.n_tokens
    assert "each exactly once, hashes match" in run("verify", output).stdout
    assert run("export", output, tmp_path / "all.npy").stdout == f"4 rows in {tmp_path / 'all.npy'}\n"
    resolved = yaml.safe_load((output / ".work" / "config.resolved.yaml").read_text())
    assert resolved["embedding"]["parts"] == "passages"
    assert resolved["chunking"]["size"] == 32


def test_the_same_command_goes_on_and_ends_with_the_same_bytes(
    run: Run, model: Path, corpus: Path, tmp_path: Path
) -> None:
    command = ("embed", "--model", model, "--input", corpus, "--output", tmp_path / "out", *CPU, "--max-failures", 1,
               "--set", "job.documents_per_part=2", "--set", "embedding.dtype=float16")  # fmt: skip
    run(*command)
    before = final_files(tmp_path / "out")
    assert "already complete, nothing written" in run(*command).stdout
    (tmp_path / "out" / "_manifest.json").unlink()
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert "1 part written, 2 found done" in run(*command).stdout
    assert final_files(tmp_path / "out") == before


def test_a_checkpoint_needs_no_model_folder_and_a_prompt_is_told(
    run: Run, minilm_folder: Path, corpus: Path, tmp_path: Path
) -> None:
    finished = run("embed", "--model", minilm_folder, "--input", corpus, "--output", tmp_path / "out", *CPU,
                   "--prompt", "query: ", "--max-failures", 1)  # fmt: skip
    assert finished.stdout.endswith("; vectors of 384 numbers; each chunk begins with 2 tokens of the prompt\n")
    rows = [row for row in rows_of(tmp_path / "out") if row["status"] == "ok"]
    assert {row["prompt_tokens"] for row in rows} == {2}
    for row in rows:
        assert np.linalg.norm(row["vector"]) == pytest.approx(1, abs=1e-6)
        assert row["parts"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--parts", "words"), "`embedding.parts` must be none, chunks, passages or spans, but is not."),
        (("--set", "job.evidence=true"), "`job.evidence` must be false for vectors, but is true. Leave it out."),
        (("--set", "training.seed=1"), "`training.seed` has no effect on `longdoc embed`, which looks at "),
        (("--set", "chunking.size=256"), "`chunking.size` is 32 in this model, and training has fixed it."),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    run: Run, model: Path, corpus: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    finished = run("embed", "--model", model, "--input", corpus, "--output", tmp_path / "o", *arguments, expect=2)
    assert message in finished.output
    assert not (tmp_path / "o").exists()

"""Jobs of vectors: the same files as ever, other columns; read back, verified, exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from job_kit import final_files, write_corpus
from longdoc.errors import JobError, UsageError
from longdoc.jobs import JobConfig, export_job, run_job, verify_job
from longdoc.jobs.embedding_rows import EmbeddingRows
from longdoc.jobs.job_plan import JobPlan
from longdoc.jobs.row_kinds import rows_of
from longdoc.types import Document, DocumentEmbedding, DocumentFailure, EmbeddedPart


class Vectors:
    """A vector of the text's length; texts of 5 words have one that float16 cannot hold, of 7 a NaN."""

    fingerprint = "vectors"

    def stream(self, documents: Iterable[Document | DocumentFailure]) -> Iterator[DocumentEmbedding | DocumentFailure]:
        for document in documents:
            if isinstance(document, DocumentFailure):
                yield document
                continue
            words = len(document.text.split())
            size = {5: 1e6, 7: float("inf")}.get(words, words / 3)
            parts = (EmbeddedPart(0, 1, 1, np.full(3, words, dtype=np.float32)), EmbeddedPart(1, 2, 0, None))
            vector = np.array([size, 0.1, -1], dtype=np.float32)
            yield DocumentEmbedding(document.id, vector, parts, words, 1, words, prompt_tokens=2)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "in.jsonl", 26)
    return tmp_path / "in.jsonl"


def run(corpus: Path, output: Path, rows: EmbeddingRows) -> None:
    run_job([corpus], output, Vectors, job=JobConfig(documents_per_part=4, max_failures=99), rows=rows)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_come_back_as_they_went_in(corpus: Path, tmp_path: Path, dtype: str) -> None:
    rows = EmbeddingRows(3, dtype, parts=True)  # type: ignore[arg-type]
    run(corpus, tmp_path / "out", rows)
    table = pa.concat_tables([pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*"))])
    assert table.schema.field("vector").type == pa.list_(pa.float16() if dtype == "float16" else pa.float32(), 3)
    found = {row["id"]: row for row in table.to_pylist()}
    assert len(found) == 26
    row = found["doc-000020"]  # 3 words
    assert np.array_equal(np.array(row["vector"], dtype), np.array([1, 0.1, -1], "float32").astype(dtype))
    assert row["parts"][0] == {"start": 0, "end": 1, "n_tokens": 1, "vector": [3.0] * 3}
    assert row["parts"][1]["vector"] is None
    assert (row["status"], row["n_tokens"], row["prompt_tokens"]) == ("ok", 3, 2)
    for name, finite in (("doc-000005", dtype == "float32"), ("doc-000007", False)):
        assert found[name]["status"] == ("ok" if finite else "failed")
        assert found[name]["reason"] == (None if finite else "non_finite_output")
        assert (found[name]["vector"] is None) != finite
    assert verify_job(tmp_path / "out").documents == 26


def test_a_plan_says_what_its_rows_are_and_another_kind_is_another_job(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(corpus, output, EmbeddingRows(3))
    kind = rows_of(JobPlan.read_back(output).settings)
    assert isinstance(kind, EmbeddingRows)
    assert (kind.width, kind.dtype, kind.parts) == (3, "float32", False)
    with pytest.raises(JobError, match=r"`rows.dtype` was 'float32' when it was planned, but is 'float16' now\."):
        run(corpus, output, EmbeddingRows(3, "float16"))
    with pytest.raises(JobError, match=r"`rows.dtype` was 'float32' when it was planned, but is None now\."):
        run_job([corpus], output, Vectors, job=JobConfig(documents_per_part=4))


def test_rows_of_a_kind_that_is_not_known() -> None:
    with pytest.raises(JobError) as caught:
        rows_of({"rows.kind": "pictures"})
    assert str(caught.value) == (
        "the rows of this job are pictures, but this longdoc knows predictions, embeddings, answers. Use the "
        "longdoc that wrote them, or a newer one."
    )


def test_a_job_that_lost_parts_is_made_whole_with_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(corpus, output, EmbeddingRows(3, parts=True))
    before = final_files(output)
    (output / "_manifest.json").unlink()
    (output / "part-00002.parquet").unlink()
    (output / "part-00003.parquet").write_bytes(b"PAR1 cut short")
    run(corpus, output, EmbeddingRows(3, parts=True))
    assert final_files(output) == before


def test_exports(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(corpus, output, EmbeddingRows(3, "float16"))
    assert export_job(output, tmp_path / "all.jsonl") == 26
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    answered = [row for row in rows if row["status"] == "ok"]
    assert 0 < len(answered) < 26
    assert all(len(row["vector"]) == 3 and row["parts"] is None for row in answered)
    assert export_job(output, tmp_path / "all.csv") == 26
    assert export_job(output, tmp_path / "all.parquet") == 26
    assert pq.read_table(tmp_path / "all.parquet").num_rows == 26

    assert export_job(output, tmp_path / "all.npy") == len(answered)
    matrix = np.load(tmp_path / "all.npy")
    ids = [json.loads(line) for line in (tmp_path / "all.npy.ids.jsonl").read_text().splitlines()]
    assert (matrix.dtype, matrix.shape) == (np.float16, (len(answered), 3))
    assert ids == [row["id"] for row in answered]
    assert matrix.tolist() == [row["vector"] for row in answered]


def test_only_vectors_can_be_a_matrix(corpus: Path, tmp_path: Path) -> None:
    from job_kit import EchoPredictor

    run_job([corpus], tmp_path / "out", EchoPredictor)
    with pytest.raises(UsageError, match=r"^`file` must end in .jsonl, .csv, .parquet, but is all.npy instead\.$"):
        export_job(tmp_path / "out", tmp_path / "all.npy")
    run(corpus, tmp_path / "vectors", EmbeddingRows(3))
    (tmp_path / "vectors" / "_manifest.json").unlink()
    with pytest.raises(JobError, match=r"is not complete: it has no _manifest.json"):
        export_job(tmp_path / "vectors", tmp_path / "all.npy")
    assert not (tmp_path / "all.npy").exists()

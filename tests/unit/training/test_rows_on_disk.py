"""Rows on disk: the same bits as rows made anew, for every head to come; damage costs time and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from longdoc.api import build_pipeline, forecast_training, train_with_report
from longdoc.config import load_config
from longdoc.errors import UsageError
from longdoc.model import LongDocModel
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.training.loop import fine_tune
from longdoc.training.rows_on_disk import rows_of
from longdoc.types import Document, DocumentFailure

CONFIG = Path(__file__).parents[3] / "configs" / "debug_tiny.yaml"
SECRET = "the canary sings"
DOCUMENTS = [
    Document(id=f"{SECRET} {n}", text=f"{SECRET} {'licence' if n % 2 else 'patient'} {n} " * (n + 1), label="ab"[n % 2])
    for n in range(6)
]
MIXED = [*DOCUMENTS[:3], Document(id="void", text=" "), *DOCUMENTS[3:]]


def tiny(*overrides: str) -> Pipeline:
    return build_pipeline(load_config(CONFIG, overrides), ("a", "b"))


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks each call of the encoder had."""
    passes: list[int] = []
    hidden = LongDocModel.hidden
    monkeypatch.setattr(
        LongDocModel, "hidden", lambda self, batch: passes.append(len(batch.chunks)) or hidden(self, batch)
    )
    return passes


def same(found: list[DocumentRows | DocumentFailure], wanted: list[DocumentRows | DocumentFailure]) -> bool:
    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, DocumentFailure) or isinstance(other, DocumentFailure):
            assert one == other
            continue
        assert torch.equal(one.rows, other.rows)
        assert torch.equal(one.weights, other.weights)
        ours, theirs = one.prepared, other.prepared
        assert (ours.id, ours.n_tokens, ours.n_chunks, ours.tokens_read) == (
            theirs.id,
            theirs.n_tokens,
            theirs.n_chunks,
            theirs.tokens_read,
        )
    return True


def test_the_second_time_nothing_is_encoded_and_the_bits_are_the_same(tmp_path: Path, encoded: list[int]) -> None:
    wanted = list(tiny().stream_rows(MIXED))
    chunks = sum(encoded)
    encoded.clear()
    assert same(list(rows_of(tiny(), MIXED, tmp_path)), wanted)
    assert sum(encoded) == chunks
    encoded.clear()
    assert same(list(rows_of(tiny(), MIXED[::-1], tmp_path)), wanted[::-1])
    assert sum(encoded) == 0


@pytest.mark.slow
def test_another_merger_finds_them_and_another_encoder_pooling_or_chunk_does_not(
    tmp_path: Path, encoded: list[int]
) -> None:
    list(rows_of(tiny(), DOCUMENTS, tmp_path))
    for override, again in (
        ("model.readout={kind: logits, merger: {kind: max}}", False),
        ("model.readout={kind: vectors, pooling: max}", True),
        ("model.readout={kind: vectors, merger: {kind: hierarchical}}", True),  # its rows have numbers
        ("training.seed=5", True),  # another random encoder
        ("chunking={size: 24, overlap: 3}", True),
    ):
        encoded.clear()
        pipeline = tiny(override)
        wanted = list(pipeline.stream_rows(DOCUMENTS))
        encoded.clear()
        assert same(list(rows_of(pipeline, DOCUMENTS, tmp_path)), wanted)
        assert bool(sum(encoded)) == again, override


def test_the_same_chunk_in_batches_of_another_shape_is_not_taken_for_it(tmp_path: Path, encoded: list[int]) -> None:
    """Padded to 24 instead of 32 tokens it had other last bits on processors with AVX-512."""
    short = [Document(id="short", text="licence")]
    list(rows_of(tiny(), short, tmp_path))
    encoded.clear()
    list(rows_of(tiny("chunking={size: 32, overlap: 3}"), short, tmp_path))
    assert sum(encoded) == 0, "the overlap of others is no business of a single chunk"
    list(rows_of(tiny("chunking={size: 24, overlap: 3}"), short, tmp_path))
    assert sum(encoded) == 1


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, encoded: list[int]) -> None:
    source = rows_of(tiny(), DOCUMENTS, tmp_path)
    first = [next(source) for _ in range(3)]
    source.close()
    encoded.clear()
    found = list(rows_of(tiny(), DOCUMENTS, tmp_path))
    assert sum(encoded) == sum(item.prepared.n_chunks for item in found[3:] if isinstance(item, DocumentRows))
    assert same(found[:3], first)


@pytest.mark.parametrize("damage", ["cut", "bit", "header"])
def test_damaged_files_are_passed_over_and_said(
    tmp_path: Path, encoded: list[int], caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    wanted = list(rows_of(tiny(), DOCUMENTS, tmp_path))
    (file,) = tmp_path.rglob("*.safetensors")
    data = bytearray(file.read_bytes())
    if damage == "cut":
        del data[-9:]
    elif damage == "bit":
        data[-9] ^= 1
    else:
        data[:30] = bytes(30)
    file.write_bytes(data)
    encoded.clear()
    assert same(list(rows_of(tiny(), DOCUMENTS, tmp_path)), wanted)
    assert sum(encoded) > 0
    assert f"the rows in {file} are damaged; their documents are encoded again" in caplog.text


def test_a_folder_that_cannot_be_one_is_refused_before_anything_is_encoded(tmp_path: Path, encoded: list[int]) -> None:
    file = tmp_path / "rows"
    file.write_text("notes")
    wanted = f"`training.rows_folder` must be a folder, but {file} is a file. Name another folder."
    with pytest.raises(UsageError) as refused:
        list(rows_of(tiny(), DOCUMENTS, file))
    assert str(refused.value) == wanted
    config = load_config(CONFIG, ["training.freeze=[encoder]", f"training.rows_folder={file}"])
    for begin in (train_with_report, forecast_training):
        with pytest.raises(UsageError) as refused:
            begin(config, tmp_path / "run", DOCUMENTS, DOCUMENTS[:2])
        assert str(refused.value) == wanted
    assert not encoded
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_what_killed_runs_left_is_removed_and_what_another_run_writes_is_not(tmp_path: Path) -> None:
    list(rows_of(tiny(), DOCUMENTS, tmp_path))
    (folder,) = tmp_path.iterdir()
    left, growing = folder / ".old.safetensors.7-00.tmp", folder / ".new.safetensors.8-00.tmp"
    left.write_bytes(b"half")
    growing.write_bytes(b"half")
    long_ago = time.time() - 7200
    os.utime(left, (long_ago, long_ago))
    list(rows_of(tiny(), DOCUMENTS, tmp_path))
    assert not left.exists()
    assert growing.exists()


def test_no_text_and_no_id_is_stored(tmp_path: Path) -> None:
    list(rows_of(tiny(), DOCUMENTS, tmp_path))
    for path in tmp_path.rglob("*"):
        assert SECRET not in path.name
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("readout", ["{kind: vectors}", "label_attention"])
def test_training_from_rows_on_disk_gives_the_same_model(tmp_path: Path, encoded: list[int], readout: str) -> None:
    found = []
    for folder in (None, "rows", "rows"):
        encoded.clear()
        overrides = [f"model.readout={readout}", "training.freeze=[encoder]", "training.num_train_epochs=2"]
        config = load_config(CONFIG, overrides + ([f"training.rows_folder={tmp_path / folder}"] if folder else []))
        pipeline = build_pipeline(config, ("a", "b"))
        fine_tune(pipeline, DOCUMENTS, DOCUMENTS[:2], tmp_path / f"run-{len(found)}", config.training)
        found.append({name: tensor.clone() for name, tensor in pipeline.model.state_dict().items()})
    assert sum(encoded) == 0
    for name, tensor in found[0].items():
        assert torch.equal(tensor, found[1][name]), name
        assert torch.equal(tensor, found[2][name]), name


def test_rows_that_learn_cannot_be_kept(tmp_path: Path) -> None:
    pipeline = tiny("model.readout={kind: vectors, head: {kind: bert_pooler}}")
    with pytest.raises(UsageError) as caught:
        list(rows_of(pipeline, DOCUMENTS, tmp_path))
    assert str(caught.value) == "rows of VectorsReadout must not depend on what it learns, to be kept, but do."

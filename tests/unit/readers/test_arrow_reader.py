"""Arrow IPC from strangers: a file's own offsets are not trusted."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from reader_kit import documents_of, failures_of, records_of


def write_stream(path: Path, table: pa.Table) -> Path:
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("offset", [1 << 30, -5])
@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.list_(pa.string())], ids=str)
def test_offsets_that_lead_out_of_the_buffer_are_a_failure(tmp_path: Path, offset: int, kind: pa.DataType) -> None:
    labels = pa.types.is_list(kind)
    values = [["x"] * 3, ["y"] * 4] if labels else ["xxx", "yyyy"]
    columns = {"text": ["a", "b"], "labels": pa.array(values, kind)} if labels else {"text": pa.array(values, kind)}
    path = write_stream(tmp_path / "in.arrow", pa.table(columns))
    data = path.read_bytes()
    right = struct.pack("<3i", 0, 3, 7)
    assert data.count(right) == 1
    path.write_bytes(data.replace(right, struct.pack("<3i", 0, 3, offset)))
    records = records_of(path)
    assert not documents_of(records)
    assert [(failure.reason, failure.error) for failure in failures_of(records)] == [("unreadable", "ArrowInvalid")]


def test_indices_beyond_the_dictionary_are_a_failure(tmp_path: Path) -> None:
    indices = pa.array([3, 4, 3], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(list("abcde")))
    path = write_stream(tmp_path / "in.arrow", pa.table({"text": column}))
    data = path.read_bytes()
    right = struct.pack("<3i", 3, 4, 3)
    assert data.count(right) == 1
    path.write_bytes(data.replace(right, struct.pack("<3i", 3, 400_000_000, 3)))
    assert [failure.reason for failure in failures_of(records_of(path))] == ["unreadable"]


def test_an_empty_file_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    path.write_bytes(b"")
    assert [failure.id for failure in failures_of(records_of(path))] == ["in.arrow:1"]

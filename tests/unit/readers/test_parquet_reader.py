"""Parquet: what is not needed is not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reader_kit import documents_of, failures_of, records_of


def test_row_groups_before_the_cursor_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": [f"t{n}" for n in range(100)]}), path, row_group_size=10)
    groups: list[int] = []
    original = pq.ParquetFile.iter_batches

    def watched(self: Any, *arguments: Any, **options: Any) -> Any:
        groups.extend(options["row_groups"])
        return original(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    for cursor in (75, 70):
        groups.clear()
        documents = documents_of(records_of(path, cursor=cursor))
        assert [document.text for document in documents] == [f"t{n}" for n in range(cursor, 100)]
        assert groups == [7, 8, 9]


def test_damage_in_a_later_row_group_costs_only_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    texts = [f"{n} " * 200 for n in range(40)]
    pq.write_table(
        pa.table({"text": texts}),
        path,
        row_group_size=10,
        compression="gzip",
        use_dictionary=False,
        write_statistics=False,
    )
    third = pq.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    end = third.data_page_offset + third.total_compressed_size
    data[end - 60 : end] = b"\xff" * 60
    path.write_bytes(data)
    *before, last = records_of(path)
    assert [document.text for document in documents_of(before)] == texts[:20]
    assert [(failure.id, failure.reason) for failure in failures_of([last])] == [("in.parquet:21", "unreadable")]


@pytest.mark.parametrize("name", ["in.parquet", "in.arrow"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    (failure,) = failures_of(records_of(tmp_path / name))
    kind = {"in.parquet": "Parquet", "in.arrow": "Arrow"}[name]
    assert failure.reason == "unreadable"
    assert failure.detail == f"The file has 0 bytes, so it is no {kind} file. Write it anew."


def test_another_format_under_that_ending_is_told(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_text("text,label\nthe rent is due,lease\n")
    (failure,) = failures_of(records_of(tmp_path / "in.parquet"))
    assert failure.detail == (
        "The file must begin with `PAR` as every Parquet file does, but begins otherwise. Give it the ending of what "
        "it is."
    )

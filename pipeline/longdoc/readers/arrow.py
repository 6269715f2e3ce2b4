"""Arrow IPC, file and stream format: one record a row, batch by batch."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longdoc.errors import DataError
from longdoc.readers.base import ReadConfig, Source, ended
from longdoc.readers.opening import FileReader, check_beginning, open_file
from longdoc.types import Record

__all__ = ["ArrowReader", "read_ipc_files"]


class ArrowReader(FileReader):
    """A cursor is the number of a row, from 0; batches before it are stepped over."""

    name = "Arrow"
    suffixes: tuple[str, ...] = (".arrow",)
    has_rows = True

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        return read_ipc_files([source.path], source.root, source, settings, cursor)


def read_ipc_files(
    paths: list[Path], root: Path, source: Source, settings: ReadConfig, cursor: int
) -> Iterator[Record]:
    """The rows of several files with one schema, numbered through."""
    row = cursor
    try:
        from longdoc.readers.columns import TableRecords

        first = 0
        for path in paths:
            with _mapped(path, root) as (mapping, buffer):
                schema, batches = _open(buffer)
                table = TableRecords(schema, source, settings)
                for batch in batches:
                    skip = min(max(cursor - first, 0), batch.num_rows)
                    for record in table.records(batch.slice(skip), first + skip):
                        yield record
                        row = record.cursor + 1
                    first += batch.num_rows
                    if hasattr(mapping, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
                        mapping.madvise(mmap.MADV_DONTNEED)  # what was read need not stay in memory
    except DataError:
        raise
    except Exception as error:
        yield ended(source, row + 1, row, error)


@contextmanager
def _mapped(path: Path, root: Path) -> Iterator[tuple[Any, Any]]:
    """The file as memory, so that a batch of long documents is paged in and out instead of held."""
    import pyarrow as pa

    with open_file(path, root) as stream:
        check_beginning(stream, ArrowReader.name)
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        yield mapping, pa.py_buffer(mapping)


def _open(buffer: Any) -> tuple[Any, Iterator[Any]]:
    import pyarrow as pa

    if buffer.slice(0, 6).to_pybytes() == b"ARROW1":
        file = pa.ipc.open_file(buffer)
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))
    stream = pa.ipc.open_stream(buffer)
    return stream.schema, iter(stream)

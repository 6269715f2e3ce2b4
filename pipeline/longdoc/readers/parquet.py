"""Parquet: one record a row, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator

from longdoc.errors import DataError
from longdoc.readers.base import ReadConfig, Source, ended
from longdoc.readers.opening import FileReader, check_beginning, open_file
from longdoc.types import Record

__all__ = ["ParquetReader"]


class ParquetReader(FileReader):
    """A cursor is the number of a row, from 0; row groups before it are not read."""

    name = "Parquet"
    suffixes: tuple[str, ...] = (".parquet",)
    has_rows = True

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        row = cursor
        try:
            import pyarrow.parquet

            from longdoc.readers.columns import ROWS_AT_ONCE, TableRecords

            with open_file(source.path, source.root) as stream:
                check_beginning(stream, self.name, b"PAR")  # PARE where it is encrypted
                file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
                table = TableRecords(file.schema_arrow, source, settings)
                first = 0
                for group in range(file.metadata.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    if first + rows <= cursor:
                        first += rows
                        continue
                    batches = file.iter_batches(
                        ROWS_AT_ONCE,
                        row_groups=[group],
                        columns=table.columns,
                        use_threads=False,  # a process can abort when it ends beside them (apache/arrow #34314)
                    )
                    for batch in batches:
                        skip = min(max(cursor - first, 0), batch.num_rows)
                        for record in table.records(batch.slice(skip), first + skip):
                            yield record
                            row = record.cursor + 1
                        first += batch.num_rows
        except DataError:
            raise
        except Exception as error:
            yield ended(source, row + 1, row, error)

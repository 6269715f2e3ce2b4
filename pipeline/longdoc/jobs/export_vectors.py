"""The vectors of a job as one matrix that NumPy and search libraries open, and the ids of its rows beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from longdoc.files import check_file_output, replacing
from longdoc.jobs.embedding_rows import EmbeddingRows

__all__ = ["export_vectors", "ids_file"]


def ids_file(file: Path) -> Path:
    """Where the ids of the rows of `file` stand: one JSON string a line, since an id may hold a line break."""
    return file.with_name(file.name + ".ids.jsonl")


def export_vectors(file: Path, rows: EmbeddingRows, answered: int, tables: Iterable[pa.Table]) -> int:
    """Write a matrix (answered, D) in the dtype of the job and the ids of its rows, both whole or not at all.

    Failed documents have no vector, so they are in neither file. Holds one part at a time.

    Args:
        file: a name that ends in `.npy`; the ids go to `ids_file(file)`.
        answered: rows of the tables that are no failures.
        tables: the parts in order.

    Returns:
        `answered`.

    Raises:
        CannotWriteError: a file cannot be written.
    """
    ids = ids_file(file)
    check_file_output(ids, "file")
    dtype = np.dtype(rows.dtype).newbyteorder("<")
    header = {"descr": dtype.str, "fortran_order": False, "shape": (answered, rows.width)}
    import pyarrow.compute as pc  # a fifth of a second, and most jobs have no vectors

    with replacing(ids) as names, replacing(file) as matrix:
        np.lib.format.write_array_header_1_0(matrix, header)
        for table in tables:
            answers = table.filter(pc.equal(table.column("status"), "ok"))
            for chunk in answers.column("vector").chunks:
                matrix.write(chunk.flatten().to_numpy(zero_copy_only=False).astype(dtype, copy=False).tobytes())
            for identity in answers.column("id").to_pylist():
                names.write(json.dumps(identity).encode("ascii") + b"\n")
    return answered

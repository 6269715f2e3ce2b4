"""The rows of `longdoc embed`: a vector a document and, on request, one for each of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from longdoc.jobs.rows import RowKind, failure_columns
from longdoc.types import DocumentEmbedding, DocumentFailure

__all__ = ["EmbeddingRows", "VectorDtype"]

VectorDtype = Literal["float32", "float16"]

_COUNTS = ("n_tokens", "n_chunks", "tokens_read", "prompt_tokens")


class EmbeddingRows(RowKind):
    """Vectors as lists of a fixed size, so that readers of Parquet take them for a matrix.

    Args:
        width: D, numbers of a vector.
        dtype: of the numbers.
        parts: whether parts of the documents have vectors too; else the column `parts` is null throughout.
    """

    def __init__(self, width: int, dtype: VectorDtype = "float32", parts: bool = False) -> None:
        self.width, self.dtype, self.parts = width, dtype, parts
        self.settings = {"rows.kind": "embeddings", "rows.width": width, "rows.dtype": dtype, "rows.parts": parts}
        vector = pa.list_(pa.float16() if dtype == "float16" else pa.float32(), width)
        part = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("n_tokens", pa.int64()), ("vector", vector)])
        self.schema = pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                pa.field("status", pa.string(), nullable=False),
                ("reason", pa.string()),
                ("vector", vector),
                ("parts", pa.list_(part)),
                *(pa.field(name, pa.int64(), nullable=False) for name in _COUNTS),
                pa.field("unknown_share", pa.float64(), nullable=False),
                ("stage", pa.string()),
                ("error", pa.string()),
                ("detail", pa.string()),
            ]
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> EmbeddingRows:
        """The kind that a plan names."""
        return cls(settings["rows.width"], settings["rows.dtype"], settings["rows.parts"])

    def row(self, result: DocumentEmbedding | DocumentFailure) -> dict[str, Any]:
        if isinstance(result, DocumentFailure):
            said: dict[str, Any] = {"status": "failed", "reason": result.reason, "vector": None, "parts": None}
        else:
            parts = self._parts(result) if self.parts else None
            said = {"status": "ok", "reason": None, "vector": self._stored(result.vector), "parts": parts}
        return {
            "id": result.id,
            **said,
            **{name: getattr(result, name, 0) for name in _COUNTS},
            "unknown_share": result.unknown_share,
            **failure_columns(result),
        }

    def numbers(self, result: DocumentEmbedding) -> Iterable[float | None]:
        yield result.unknown_share
        yield float(np.abs(self._stored(result.vector)).max(initial=0))
        for part in result.parts if self.parts else ():
            yield None if part.vector is None else float(np.abs(self._stored(part.vector)).max(initial=0))

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        vector, parts = row["vector"], row["parts"]
        return {
            **row,
            "vector": _plain(vector),
            "parts": None if parts is None else [part | {"vector": _plain(part["vector"])} for part in parts],
        }

    def _parts(self, result: DocumentEmbedding) -> list[dict[str, Any]]:
        return [
            part._asdict() | {"vector": None if part.vector is None else self._stored(part.vector)}
            for part in result.parts
        ]

    def _stored(self, vector: NDArray[np.float32]) -> NDArray[Any]:
        with np.errstate(over="ignore"):  # what is too large for float16 becomes infinite, and so a failure
            return vector.astype(self.dtype)


def _plain(vector: Any) -> list[float] | None:
    return None if vector is None else [float(number) for number in vector]

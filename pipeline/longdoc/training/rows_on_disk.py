"""Rows of a frozen encoder that outlast the run: each document is encoded once, for every head and merger to come.

A folder holds one subfolder for each way of making rows (encoder, pooling, precision), and in it files of rows, each
named by the sha256 of its bytes. A document is found by the digest of what the encoder sees of it, its chunks; no text
and no id is stored. Files are written now and then while documents are encoded, so a run that is stopped goes on where
it was; a file that was damaged is passed over, and its documents are encoded again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from longdoc.files import check_folder_output, make_folder, write_bytes
from longdoc.pipeline import DocumentRows, Pipeline
from longdoc.text.batching import buckets
from longdoc.text.chunking import PreparedDocument
from longdoc.types import Chunk, Document, DocumentFailure
from longdoc.version import __version__

__all__ = ["RowFolder", "rows_of"]

_log = logging.getLogger(__name__)

_GROUP = 64  # documents that are looked up, and encoded where they are missing, at once
_BYTES, _SECONDS = 128 << 20, 60.0  # a file is written when so much waits, or for so long
_ABANDONED = 3600.0  # seconds after which nobody writes to a temporary file any more


class RowFolder:
    """Rows by the digest of a document's chunks.

    Args:
        folder: made when the first rows are written.
        recipe: digest of all that rows depend on beside the chunks.

    Raises:
        UsageError, CannotWriteError: `folder` is a file, or takes no files.
    """

    def __init__(self, folder: Path, recipe: str) -> None:
        check_folder_output(folder, "training.rows_folder")
        self.folder = folder / recipe[:32]
        _remove_abandoned(self.folder)
        self._places: dict[str, Path] = {}
        self._open: tuple[Path, dict[str, tuple[torch.Tensor, torch.Tensor]]] | None = None
        self._waiting: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._since = time.monotonic()
        for path in sorted(self.folder.glob("*.safetensors")) if self.folder.is_dir() else ():
            self._places.update(dict.fromkeys(_keys_in(path), path))

    def get(self, key: str) -> tuple[torch.Tensor, torch.Tensor] | None:
        """rows (n_chunks, F) and weights (n_chunks,), or None where they are not known."""
        if key in self._waiting:
            return self._waiting[key]
        path = self._places.get(key)
        if path is None:
            return None
        if self._open is None or self._open[0] != path:
            self._open = (path, _read(path))
        return self._open[1].get(key)

    def add(self, key: str, rows: torch.Tensor, weights: torch.Tensor) -> None:
        """Keep rows; they are on disk after the next `flush` at the latest."""
        self._waiting[key] = (rows.contiguous(), weights.contiguous())
        size = sum(4 * rows.numel() for rows, _ in self._waiting.values())
        if size >= _BYTES or time.monotonic() - self._since >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            tensors = {f"{key}.r": rows for key, (rows, _) in self._waiting.items()}
            tensors |= {f"{key}.w": weights for key, (_, weights) in self._waiting.items()}
            data = save(tensors, {"keys": " ".join(self._waiting)})
            make_folder(self.folder)
            path = self.folder / f"{hashlib.sha256(data).hexdigest()}.safetensors"
            write_bytes(path, data)
            self._places.update(dict.fromkeys(self._waiting, path))
            self._waiting = {}
        self._since = time.monotonic()


def rows_of(
    pipeline: Pipeline, documents: Sequence[Document], folder: Path | None = None
) -> Iterator[DocumentRows | DocumentFailure]:
    """As `Pipeline.stream_rows`; with a folder, what is in it is not encoded again, and what is not comes into it.

    Args:
        folder: see `RowFolder`; None = nothing is kept.

    Raises:
        UsageError, CannotWriteError: the folder is a file, or takes no files.
    """
    if folder is None:
        yield from pipeline.stream_rows(documents)
        return
    store = RowFolder(folder, _recipe(pipeline))
    try:
        source = iter(documents)
        while group := list(islice(source, _GROUP)):
            yield from _group(pipeline, group, store)
    finally:
        store.flush()


def _group(
    pipeline: Pipeline, documents: Sequence[Document], store: RowFolder
) -> Iterator[DocumentRows | DocumentFailure]:
    prepared = [
        replace(item, chunks=tuple(item.chunks)) if isinstance(item, PreparedDocument) else item
        for item in pipeline.prepare(documents)
    ]
    keys = [_key(item.chunks) if isinstance(item, PreparedDocument) else "" for item in prepared]
    known = [store.get(key) if key else None for key in keys]
    missing = [number for number, rows in enumerate(known) if rows is None]
    fresh = pipeline.rows_of_prepared([documents[n] for n in missing], [prepared[n] for n in missing])
    for item, key, rows in zip(prepared, keys, known, strict=True):
        if rows is not None and isinstance(item, PreparedDocument):
            yield DocumentRows(item, *rows)
            continue
        encoded = next(fresh)
        if isinstance(encoded, DocumentRows):
            store.add(key, encoded.rows, encoded.weights)
        yield encoded


def _recipe(pipeline: Pipeline) -> str:
    """Digest of what rows depend on beside the chunks: the encoder, what is made of its states, and how exactly."""
    encoder, digest = pipeline.model.encoder, hashlib.sha256()
    fixed_tokens = pipeline.prediction.batching.amounts(pipeline.placement.device.type).fixed_tokens
    parts = {
        "encoder": encoder.config.model_dump(mode="json"),
        "rows": pipeline.model.readout.row_recipe(),
        "placement": pipeline.placement.name,
        "deterministic": pipeline.prediction.batching.deterministic,
        # A chunk is padded to the next of these: the same chunk in another shape may have other last bits.
        "lengths": buckets(pipeline.settings.chunking.size, fixed_tokens),
        "cores_of_a_batch": 1,  # rows of before, when a batch alone had all of them, may have other last bits
        "max_unknown_share": pipeline.prediction.max_unknown_share,
        "longdoc": __version__,
        "torch": torch.__version__,
    }
    digest.update(json.dumps(parts, sort_keys=True).encode())
    for name, tensor in sorted(encoder.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\0".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _key(chunks: Iterable[Chunk]) -> str:
    """Digest of what the encoder sees of a document, and of which tokens count."""
    digest = hashlib.sha256()
    for chunk in chunks:
        places = (*chunk.span, *chunk.core, chunk.lead, len(chunk.token_ids), chunk.ordinal)
        digest.update(struct.pack("<7q", *places))
        digest.update(chunk.token_ids.tobytes())
        if chunk.axes is not None:
            digest.update(chunk.axes.tobytes())
    return digest.hexdigest()


def _remove_abandoned(folder: Path) -> None:
    """What runs that were killed as they wrote have left. Another run may be writing just now: that stays."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()


def _keys_in(path: Path) -> list[str]:
    """The documents that a file has, from its header; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, 100 << 20)))
        return str(header["__metadata__"]["keys"]).split()
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        _pass_over(path)
        return []


def _read(path: Path) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """All rows of a file, if it still is what was written."""
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == path.stem:
            tensors = load(data)
            return {name[:-2]: (tensors[name], tensors[f"{name[:-2]}.w"]) for name in tensors if name.endswith(".r")}
    except (OSError, SafetensorError, KeyError):
        pass
    _pass_over(path)
    return {}


def _pass_over(path: Path) -> None:
    _log.warning("the rows in %s are damaged; their documents are encoded again", path)

"""Datasets of the library `datasets`: folders made by `save_to_disk`, and ids of the hub.

Folders are read with Arrow alone. A hub id is loaded by the library: from its cache, or from the network where the
environment allows that (`HF_HUB_OFFLINE=1` forbids it).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from longdoc.errors import DataError, DocumentError
from longdoc.readers.arrow import read_ipc_files
from longdoc.readers.base import ReadConfig, Source, ended
from longdoc.readers.opening import file_digest, open_file
from longdoc.types import Record

__all__ = ["DatasetReader", "HubReader", "dataset_source", "hub_source", "is_dataset_folder"]

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_LARGEST_STATE = 1 << 22


def is_dataset_folder(path: Path) -> bool:
    """Whether `save_to_disk` made this folder."""
    return (path / "dataset_dict.json").is_file() or (
        (path / "state.json").is_file() and (path / "dataset_info.json").is_file()
    )


def dataset_source(path: Path, root: Path, name: str, settings: ReadConfig) -> Source:
    """The source for such a folder: the split that is asked for, where it has splits."""
    if not (path / "dataset_dict.json").is_file():
        return Source(path, root, name)
    splits = _read_json(path / "dataset_dict.json", root).get("splits")
    names = [split for split in splits if isinstance(split, str)] if isinstance(splits, list) else []
    split = _choose_split(names, name, settings)
    return Source(path / split, root, f"{name}/{split}")


def hub_source(text: str, settings: ReadConfig) -> Source | None:
    """The source for `org/name`, loaded once to see that it is there; None if `text` is no such id."""
    if not _HUB_ID.fullmatch(text):
        return None
    split = _choose_split(list(_load_from_hub(text)), text, settings)
    return Source(Path(text), Path(), f"{text}/{split}")


class DatasetReader:
    """A folder made by `save_to_disk`. A cursor is the number of a row, from 0."""

    name = "datasets folder"
    suffixes: tuple[str, ...] = ()

    def opens(self, path: Path) -> bool:
        return path.is_dir() and is_dataset_folder(path)

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        try:
            paths = _data_files(source)
        except Exception as error:
            yield ended(source, cursor + 1, cursor, error)
            return
        yield from read_ipc_files(paths, source.path, source, settings, cursor)

    def digest(self, source: Source) -> str:
        described = [source.path / "dataset_info.json", source.path / "state.json"]
        return _digest_of([*described, *_data_files(source)], source.path)


class HubReader:
    """A dataset of the hub, by its id. A cursor is the number of a row, from 0."""

    name = "hub dataset"
    suffixes: tuple[str, ...] = ()

    def opens(self, path: Path) -> bool:
        return not path.exists() and _HUB_ID.fullmatch(path.as_posix()) is not None

    def read(self, source: Source, settings: ReadConfig, cursor: int = 0) -> Iterator[Record]:
        from longdoc.readers.columns import ROWS_AT_ONCE, TableRecords

        dataset = _split_of(source)
        row = cursor
        try:
            table = TableRecords(dataset.features.arrow_schema, source, settings)
            rows = dataset.with_format("arrow")
            for start in range(cursor, len(dataset), ROWS_AT_ONCE):
                for batch in rows[start : start + ROWS_AT_ONCE].to_batches():
                    for record in table.records(batch, row):
                        yield record
                        row = record.cursor + 1
        except DataError:
            raise
        except Exception as error:
            yield ended(source, row + 1, row, error)

    def digest(self, source: Source) -> str:
        return _digest_of([Path(file["filename"]) for file in _split_of(source).cache_files], None)


def _choose_split(names: list[str], name: str, settings: ReadConfig) -> str:
    listed = ", ".join(f"`{split}`" for split in names)
    if settings.split is None:
        if len(names) == 1:
            return names[0]
        raise DataError(f"{name} has the splits {listed}. Say in `read.split` which one is read.")
    if settings.split not in names:
        raise DataError(f"`read.split` must be one of {listed} in {name}, but is `{settings.split}` instead.")
    return settings.split


def _split_of(source: Source) -> Any:
    identifier = source.path.as_posix()
    return _load_from_hub(identifier)[source.name.removeprefix(f"{identifier}/")]


@lru_cache(maxsize=8)
def _load_from_hub(identifier: str) -> Any:
    """All splits, memory-mapped."""
    import datasets

    try:
        return datasets.load_dataset(identifier)
    except Exception as error:
        fault = type(error).__name__
    raise DataError(
        f"There is no file or folder `{identifier}`, and a dataset of that id cannot be loaded from the hub ({fault}). "
        f"Check the spelling; if it is right, check the network, or HF_HUB_OFFLINE."
    )


def _data_files(source: Source) -> list[Path]:
    """The Arrow files that `state.json` lists. Names that lead out of the folder are refused when they are opened."""
    state = _read_json(source.path / "state.json", source.root)
    if state.get("_indices_files"):
        raise DocumentError("unreadable", "The folder keeps its rows in an order of its own: save it again.")
    files = state.get("_data_files")
    names = [file.get("filename") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    paths = [source.path / name for name in names if isinstance(name, str)]
    if not paths or len(paths) < len(names):
        raise DocumentError("unreadable", "The file `state.json` lists no data files.")
    return paths


def _read_json(path: Path, root: Path) -> dict[str, Any]:
    with open_file(path, root) as stream:
        text = stream.read(_LARGEST_STATE)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise DocumentError("unreadable", f"The file `{path.name}` is not a JSON object.")
    return values


def _digest_of(files: list[Path], root: Path | None) -> str:
    """Of the names and bytes of all files, in this order. Without a `root` they are the library's own."""
    digest = hashlib.sha256()
    for path in files:
        name = path.name.encode("utf-8", "surrogateescape")
        digest.update(name + b"\0" + file_digest(path, root or path.resolve().parent).encode() + b"\n")
    return digest.hexdigest()

"""Datasets of the library `datasets`: folders made by `save_to_disk`, and ids of the hub.

Folders are read with Arrow alone. An id of the hub is written `hf:owner/name`, so that no mistyped path is ever sent
there, and is loaded by the library: from its cache, or from the network where `HF_HUB_OFFLINE=1` does not forbid that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from longdoc.errors import DataError, DocumentError, on_one_line
from longdoc.hub import HUB_PREFIX, quiet_hub, why_unreachable
from longdoc.readers.arrow import read_ipc_files
from longdoc.readers.base import ReadConfig, Source, ended
from longdoc.readers.opening import file_digest, open_file
from longdoc.types import Record

__all__ = ["DatasetReader", "HubReader", "dataset_source", "hub_source", "is_dataset_folder", "may_be_hub_id"]

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


def may_be_hub_id(text: str) -> bool:
    """Whether `text` has the form of an id, `owner/name`, without the prefix that makes it one."""
    return _HUB_ID.fullmatch(text) is not None


def hub_source(text: str, settings: ReadConfig) -> Source:
    """The source for `hf:owner/name`, loaded once to see that it is there."""
    identifier = text.removeprefix(HUB_PREFIX)
    if not may_be_hub_id(identifier):
        raise DataError(f"A dataset of the hub must be named `{HUB_PREFIX}owner/name`, but is named `{text}` instead.")
    split = _choose_split(list(_load_from_hub(identifier)), identifier, settings)
    return Source(Path(text), Path(), f"{identifier}/{split}")


class DatasetReader:
    """A folder made by `save_to_disk`. A cursor is the number of a row, from 0."""

    name = "datasets folder"
    suffixes: tuple[str, ...] = ()
    has_rows = True

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
    """A dataset of the hub, by its id with the prefix. A cursor is the number of a row, from 0."""

    name = "hub dataset"
    suffixes: tuple[str, ...] = ()
    has_rows = True

    def opens(self, path: Path) -> bool:
        text = path.as_posix()
        return text.startswith(HUB_PREFIX) and may_be_hub_id(text.removeprefix(HUB_PREFIX))

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
    name, listed = on_one_line(name), ", ".join(f"`{on_one_line(split)}`" for split in names)
    if settings.split is None:
        if len(names) == 1:
            return names[0]
        raise DataError(f"{name} has the splits {listed}. Say in `read.split` which one is read.")
    if settings.split not in names:
        raise DataError(f"`read.split` must be one of {listed} in {name}, but is `{settings.split}` instead.")
    return settings.split


def _split_of(source: Source) -> Any:
    identifier = source.path.as_posix().removeprefix(HUB_PREFIX)
    return _load_from_hub(identifier)[source.name.removeprefix(f"{identifier}/")]


@lru_cache(maxsize=8)
def _load_from_hub(identifier: str) -> Any:
    """All splits, memory-mapped."""
    import datasets

    if Path(identifier).exists():  # the library would read that
        raise DataError(
            f"`{HUB_PREFIX}{identifier}` is a dataset of the hub, but there is a file or folder `{identifier}` here "
            f"too. Name that one without `{HUB_PREFIX}`, or run the command in another folder."
        )
    offline, bars = datasets.config.HF_HUB_OFFLINE, not datasets.are_progress_bars_disabled()
    with quiet_hub():
        fault = None if offline else why_unreachable("dataset", identifier)
        datasets.config.HF_HUB_OFFLINE = offline or fault is not None  # then the cache is all there is
        datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(identifier)
        except Exception as error:
            fault = fault or type(error).__name__
        finally:
            datasets.config.HF_HUB_OFFLINE = offline
            if bars:
                datasets.enable_progress_bars()
    raise DataError(
        f"The dataset `{HUB_PREFIX}{identifier}` cannot be loaded from the hub ({fault}). Check the spelling; if it is "
        "right, check the network, or HF_HUB_OFFLINE."
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

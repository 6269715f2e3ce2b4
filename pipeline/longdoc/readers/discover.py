"""From what a user names (files, folders, patterns, datasets) to the list of sources, in a fixed order."""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from longdoc.errors import DataError, DocumentError, on_one_line
from longdoc.hub import HUB_PREFIX
from longdoc.readers.base import ReadConfig, Reader, Source
from longdoc.readers.dataset_folder import dataset_source, hub_source, is_dataset_folder, may_be_hub_id
from longdoc.readers.patterns import matches, split_pattern, without_detours

__all__ = ["find"]

_ESCAPED = re.compile(r"[\ud800-\udfff]|\\ud[89a-f][0-9a-f]{2}")
"""A character that stands for a byte that is no UTF-8, or, written out, its escape."""


def find(inputs: Sequence[str | Path], settings: ReadConfig, readers: Sequence[Reader]) -> list[Source]:
    """See `longdoc.readers.find_sources`."""
    suffixes = tuple(suffix for reader in readers for suffix in reader.suffixes)
    groups = []
    for named in inputs:
        try:
            found = list(_expand(os.fspath(named), settings, suffixes))
        except DocumentError as error:  # a state file of a dataset that cannot be read
            fault = str(error)
        except OSError as error:
            fault = f"The system says no ({type(error).__name__}): check its rights."
        else:
            fault = "" if found else "Nothing to read was found there: hidden files and empty folders do not count."
        if fault:
            raise DataError(f"`{on_one_line(str(named))}` cannot be read. {fault}")
        groups.append(found)
    if not groups:
        raise DataError("No input is named. Give at least one file, folder, pattern or dataset.")
    return [source for group in _with_distinct_names(groups) for source in group]


def _expand(named: str, settings: ReadConfig, suffixes: tuple[str, ...]) -> Iterable[Source]:
    if named.startswith(HUB_PREFIX):
        return [hub_source(named, settings)]
    path = Path(named)
    if os.path.lexists(path):
        return _folder(path, settings) if path.is_dir() else [_named_file(path, suffixes)]
    if glob.has_magic(named):
        return _pattern(named, settings)
    hub = f" A dataset of the Hugging Face hub is named with a prefix: `{HUB_PREFIX}{named}`."
    raise DataError(
        f"`{on_one_line(named)}` does not exist. Check the path; it is taken relative to the current folder."
        f"{hub if may_be_hub_id(named) and not named.lower().endswith(suffixes) else ''}"
    )


def _named_file(path: Path, suffixes: tuple[str, ...]) -> Source:
    """A file that the user names must be usable, or else nothing is started."""
    shown = on_one_line(str(path))
    root = path.parent.resolve()
    source = Source(root / path.name, root, _name(Path(path.name)))
    try:
        target = source.path.resolve(strict=True)
    except (OSError, RuntimeError):
        target = None
    if target is None or not target.is_relative_to(root):
        raise DataError(f"`{shown}` is a link that leads out of its folder, or nowhere. Name the file it stands for.")
    if not stat.S_ISREG(target.stat().st_mode):
        raise DataError(f"`{shown}` is not a regular file (a pipe, a device or a socket). Save it to a file first.")
    if not path.name.lower().endswith(suffixes):
        kinds = ", ".join(sorted(suffixes))
        raise DataError(f"`{shown}` is of a type that cannot be read. Convert it to one of these: {kinds}.")
    return source


def _folder(path: Path, settings: ReadConfig) -> Iterable[Source]:
    root = path.resolve()
    if is_dataset_folder(root):
        return [dataset_source(root, root.parent, _name(Path(root.name)), settings)]
    return sorted(_walk(root, root, settings), key=lambda source: source.name)


def _walk(folder: Path, root: Path, settings: ReadConfig) -> Iterator[Source]:
    """Everything below `folder` but hidden names."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        fault = type(error).__name__
    else:
        fault = ""
    if fault:
        shown = on_one_line(str(folder.relative_to(root.parent)))
        raise DataError(f"The folder `{shown}` cannot be listed ({fault}). Check its rights.")
    for name in names:
        yield from _entry(folder / name, root, settings)


def _entry(path: Path, root: Path, settings: ReadConfig) -> Iterator[Source]:
    """A file, or all files of a folder.

    Links to folders are not followed. One that leads out of `root` is a source, so that it shows up as refused; what
    one inside stands for is there under its real name.
    """
    name = _name(path.relative_to(root))
    if not path.is_dir():
        yield Source(path, root, name)
    elif path.is_symlink():
        if not path.resolve().is_relative_to(root):
            yield Source(path, root, name)
    elif is_dataset_folder(path):
        yield dataset_source(path, root, name, settings)
    else:
        yield from _walk(path, root, settings)


def _name(path: Path) -> str:
    """The path with forward slashes; bytes of a file name that are no UTF-8 become escapes, since names are ids.

    Two files have two names: where there are such bytes, or what looks like their escape, backslashes are doubled.
    """
    name = path.as_posix()
    if _ESCAPED.search(name):
        name = name.replace("\\", "\\\\")
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _pattern(pattern: str, settings: ReadConfig) -> Iterable[Source]:
    """Names are relative to the last folder before the first wildcard; matching folders are read whole."""
    start, parts = split_pattern(pattern)
    root = start.resolve()
    found: dict[Path, Source] = {}
    for match in matches(root, parts):
        found.update((source.path, source) for source in _entry(match, root, settings))
    return sorted((found[path] for path in without_detours(found)), key=lambda source: source.name)


def _with_distinct_names(groups: list[list[Source]]) -> list[list[Source]]:
    """If files of several inputs have one name, all names begin at the folder that the inputs have in common."""
    counts = Counter(source.name for group in groups for source in group)
    if len(groups) == 1 or max(counts.values()) == 1:
        return groups
    local = [source for group in groups for source in group if source.root != Path()]
    common = Path(os.path.commonpath([source.root for source in local]))

    def renamed(source: Source) -> Source:
        if source.root == Path():
            return source
        if source.path.is_relative_to(common):  # not so where a dataset names a split that lies elsewhere
            return dataclasses.replace(source, name=_name(source.path.relative_to(common)))
        return dataclasses.replace(source, name=_name(source.root.relative_to(common) / source.name))

    return [[renamed(source) for source in group] for group in groups]

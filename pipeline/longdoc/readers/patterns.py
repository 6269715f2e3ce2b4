"""Which paths a pattern such as `reports/**/*.txt` stands for, links and loops of links included.

Python's own `glob` follows links to folders while it looks for `**`: a link to the folder it lies in makes forty
documents of each, and two of them keep it busy for ever.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

__all__ = ["matches", "split_pattern", "without_detours"]


def split_pattern(pattern: str) -> tuple[Path, tuple[str, ...]]:
    """The folder before the first part with a wildcard, and the parts from there on."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), parts[first:]


def matches(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """All paths below `folder` that `parts` stand for; the same one may come several times.

    `**` stands for any number of folders and does not follow links to them. Names that begin with a dot are found only
    by parts that begin with one. Raises `OSError` for a folder that cannot be listed.
    """
    part, rest = parts[0], parts[1:]
    if part == "**":
        if rest:
            yield from matches(folder, rest)
        for path in _listed(folder):
            if not rest:
                yield path
            elif path.is_dir() and not path.is_symlink():
                yield from matches(path, parts)
        return
    for path in _named(folder, part):
        if not rest:
            yield path
        elif path.is_dir():
            yield from matches(path, rest)


def without_detours(paths: Iterable[Path]) -> list[Path]:
    """The paths sorted, without those that lead through a link to a folder to a file that is there on its own."""

    @cache
    def real(folder: Path) -> str:
        return os.path.realpath(folder)

    direct: list[Path] = []
    detours: dict[str, Path] = {}
    seen: set[str] = set()
    for path in sorted(set(paths)):
        place = os.path.join(real(path.parent), path.name)  # noqa: PTH118  compared with the string of a path
        if place == str(path):
            direct.append(path)
            seen.add(place)
        else:
            detours.setdefault(place, path)
    return sorted([*direct, *(path for place, path in detours.items() if place not in seen)])


def _named(folder: Path, part: str) -> Iterator[Path]:
    if glob.has_magic(part):
        yield from (path for path in _listed(folder, part[0] == ".") if fnmatch.fnmatchcase(path.name, part))
    elif os.path.lexists(folder / part):
        yield folder / part


def _listed(folder: Path, hidden: bool = False) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries if hidden or not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []

"""What a command writes must not be, lie in or hold what it reads."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from longdoc.errors import UsageError

__all__ = ["check_apart"]

_INSIDE = "lies in"


def check_apart(
    path: Path, read: Mapping[str, Iterable[str | Path]], name: str = "output", *, homes: Collection[str] = ()
) -> None:
    """Refuse an output that is, lies in or holds what the same command reads: its files would be read as inputs the
    next time, or replace some of them. Links are followed.

    Args:
        path: the folder or file that is to be written.
        read: what is read, by the name that the user knows it under: files, folders, patterns. What is not here (a name
            of a hub) is let by.
        name: of the output.
        homes: those names of `read` in whose folders the output may lie, in a place of its own: nothing there is read
            but by its name, as in a model folder.

    Raises:
        UsageError: names both.
    """
    for option, inputs in read.items():
        for given in inputs:
            relation = _relation(path, os.fspath(given))
            if relation and not (relation == _INSIDE and option in homes):
                raise UsageError(
                    f"`{name}` must lie apart from what `{option}` names, but {path} {relation} {given}. Name another "
                    "place, beside it."
                )


def _relation(path: Path, given: str) -> str | None:
    """How an output stands to an input; None where it lies apart."""
    place, pattern = _fixed_part(given)
    if not place.exists():
        return None
    target, source = path.resolve(), place.resolve()
    if _is_same(target, source):
        return "holds what matches" if pattern else "is"
    if any(_is_same(folder, target) for folder in source.parents):
        return "holds"
    for number, folder in enumerate(target.parents):
        if _is_same(folder, source) and _may_match(pattern, target.parts[-number - 1 :]):
            return "may match" if pattern else _INSIDE
    return None


def _fixed_part(given: str) -> tuple[Path, Sequence[str]]:
    """The file or folder that is named, and what a pattern asks for below it."""
    parts = Path(given).expanduser().parts
    if os.path.lexists(given) or not glob.has_magic(given):
        return Path(*parts), ()
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]), parts[first:]


def _may_match(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a folder under these names, or what it holds, can be among what a pattern finds."""
    for wanted, name in zip(pattern, names, strict=False):
        if wanted == "**":
            return True
        if not fnmatch.fnmatchcase(name, wanted):
            return False
    return True


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one == other or one.samefile(other)
    except OSError:  # one of them is not there yet
        return False

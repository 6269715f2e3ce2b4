"""The inputs of a job: their records in order, and whether they changed while the job ran."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from longdoc.errors import no_document
from longdoc.jobs.identity import IdDigest
from longdoc.readers import find_documents, read_source
from longdoc.readers.base import ReadConfig, Source
from longdoc.types import Document, DocumentFailure, Record

__all__ = ["RollCall", "SourceWatch", "list_sources", "read_records", "refuse_nothing", "states_of"]


_CIRCUMSTANCES = frozenset({"timeout", "memory_limit", "worker_died"})


def list_sources(inputs: Sequence[str | Path], read: ReadConfig, output: Path) -> tuple[Source, ...]:
    """All sources of documents in order, without the job's own folder: `output` may lie inside an input folder."""
    own = output.resolve()
    found, _ = find_documents(inputs, read)
    return tuple(source for source in found if source.root == Path() or not _is_inside(source.path, own))


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a loop of links, which is nowhere
        return False


def read_records(
    sources: Sequence[Source], read: ReadConfig, source: int = 0, cursor: int = 0
) -> Iterator[tuple[int, Record]]:
    """(number of the source, record) from the record at `cursor` of source number `source` on, to the very end."""
    for number in range(source, len(sources)):
        for record in read_source(sources[number], read, cursor):
            yield number, record
        cursor = 0


def refuse_nothing(inputs: Sequence[str | Path], read: ReadConfig, output: Path) -> None:
    """Refuse inputs of which not one is a document or a failure, such as a table of a header alone. Reads the first.

    Raises:
        DataError: such are these, or they cannot be used.
    """
    if next(read_records(list_sources(inputs, read, output), read), None) is None:
        raise no_document("--input")


class RollCall:
    """Which records a part has, as its plan tells it: how many, how many unreadable, and the digest of their ids.

    A record that fails for want of time or memory while planning may be read at the second try, and the other way
    round; that is no change of the inputs.
    """

    def __init__(self) -> None:
        self._digest = IdDigest()
        self.documents = 0
        self.unreadable = 0

    def add(self, document: Document | DocumentFailure) -> None:
        """Append one record."""
        self._digest.add(document.id)
        self.documents += 1
        self.unreadable += isinstance(document, DocumentFailure) and document.reason not in _CIRCUMSTANCES

    def hexdigest(self) -> str:
        """The digest of the ids so far."""
        return self._digest.hexdigest()


class SourceWatch:
    """Remembers size, time and inode of every file, to find in a moment those that were touched since.

    It lives as long as the run: the plan holds digests, never times.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._seen = [_signature(source) for source in sources]

    def touched(self) -> Iterator[int]:
        """Numbers of the sources whose files differ from what was seen first."""
        for number, source in enumerate(self._sources):
            if _signature(source) != self._seen[number]:
                yield number


def states_of(source: Source) -> Iterator[tuple[str, os.stat_result | None]]:
    """What the system says of a file, or of each file below a folder; None where it says nothing.

    Nothing behind a link that leads out of the source's root is looked at, since nothing there is read: it may be
    anything, and of any size.
    """
    if _is_inside(source.path, source.root.resolve()) and source.path.is_dir():
        below = [os.path.join(folder, name) for folder, _, names in os.walk(source.path) for name in names]  # noqa: PTH118
        paths = sorted(map(Path, below))
    else:
        paths = [source.path]
    for path in paths:
        try:
            state = path.stat() if _is_inside(path, source.root.resolve()) else path.lstat()
        except OSError:
            state = None
        yield str(path), state


def _signature(source: Source) -> int:
    """One number for the state of a file, or of all files below a folder."""
    return hash(
        tuple(
            (name,) if state is None else (name, state.st_size, state.st_mtime_ns, state.st_ino)
            for name, state in states_of(source)
        )
    )

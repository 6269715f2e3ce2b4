"""The inputs of a job: their records in order, and whether they changed while the job ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from longdoc.errors import no_document
from longdoc.jobs.identity import IdDigest
from longdoc.readers import find_sources, read_source
from longdoc.readers.base import ReadConfig, Source
from longdoc.types import Document, DocumentFailure, Record

__all__ = ["RollCall", "SourceWatch", "list_sources", "read_records", "refuse_nothing"]


_CIRCUMSTANCES = frozenset({"timeout", "memory_limit", "worker_died"})


def list_sources(inputs: Sequence[str | Path], read: ReadConfig, output: Path) -> tuple[Source, ...]:
    """All sources in order, without the job's own folder: `output` may lie inside an input folder."""
    own = output.resolve()
    found = find_sources(inputs, read)
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
        self._seen = [_signature(source.path) for source in sources]

    def touched(self) -> Iterator[int]:
        """Numbers of the sources whose files differ from what was seen first."""
        for number, source in enumerate(self._sources):
            if _signature(source.path) != self._seen[number]:
                yield number


def _signature(path: Path) -> int:
    """One number for the state of a file, or of all files below a folder."""
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = []
    for each in paths:
        try:
            state = each.stat()
        except OSError:
            states.append((str(each),))
        else:
            states.append((str(each), state.st_size, state.st_mtime_ns, state.st_ino))  # type: ignore[arg-type]
    return hash(tuple(states))

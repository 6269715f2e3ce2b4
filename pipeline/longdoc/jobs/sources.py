"""The inputs of a job: their records in order, their digests, and whether they changed while the job ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from longdoc.errors import DataError
from longdoc.readers import find_sources, read_source, source_digest
from longdoc.readers.base import ReadConfig, Source
from longdoc.types import DocumentFailure, Record

__all__ = ["SourceWatch", "digest_of", "list_sources", "read_records"]


def list_sources(inputs: Sequence[str | Path], read: ReadConfig, output: Path) -> tuple[Source, ...]:
    """All sources in order, without the job's own folder: `output` may lie inside an input folder."""
    own = output.resolve()
    return tuple(source for source in find_sources(inputs, read) if not source.path.resolve().is_relative_to(own))


def read_records(
    sources: Sequence[Source], read: ReadConfig, source: int = 0, cursor: int = 0
) -> Iterator[tuple[int, Record]]:
    """(number of the source, record) from the record at `cursor` of source number `source` on, to the very end.

    An id that has no UTF-8 form (a lone surrogate) could not be written down, so its record becomes a failure that
    is called by its place.

    Raises:
        DataError: a source cannot be opened any more; the message names it.
    """
    for number in range(source, len(sources)):
        try:
            for record in read_source(sources[number], read, cursor):
                yield number, _writable(record)
        except OSError as error:
            raise DataError(
                f"{sources[number].name} cannot be read any more ({type(error).__name__}). Put it back, then run the "
                "same command again."
            ) from None
        cursor = 0


def _writable(record: Record) -> Record:
    try:
        record.document.id.encode("utf-8")
    except UnicodeEncodeError:
        place = str(record.place).encode("utf-8", "backslashreplace").decode("utf-8")
        return replace(record, document=DocumentFailure(place, "decode_error", error="UnicodeEncodeError"))
    return record


def digest_of(source: Source) -> str:
    """sha256 of the bytes of a source.

    Raises:
        DataError: it cannot be opened; the message names it.
    """
    try:
        return source_digest(source)
    except OSError as error:
        raise DataError(f"{source.name} cannot be read ({type(error).__name__}). Check its permissions.") from None


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

"""Opening a file that strangers may have placed: only regular files inside the root, decompressed while reading."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from longdoc.errors import DocumentError
from longdoc.readers.base import Source

__all__ = [
    "FileReader",
    "TruncatedStreamError",
    "check_beginning",
    "file_digest",
    "is_compressed",
    "open_file",
    "open_source",
    "packed_bytes",
]

_BUFFER = 1 << 18
_FLAGS = os.O_RDONLY
for _flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"):  # not every system has every one
    _FLAGS |= getattr(os, _flag, 0)


class FileReader:
    """What readers of single files have in common: they are told by the name's ending and digest the bytes."""

    suffixes: tuple[str, ...]
    has_rows = False

    def opens(self, path: Path) -> bool:
        """Whether the name of `path` has one of the endings."""
        return path.name.lower().endswith(self.suffixes)

    def digest(self, source: Source) -> str:
        """SHA-256 (hexadecimal) of the bytes as stored."""
        return file_digest(source.path, source.root)


class TruncatedStreamError(EOFError):
    """A compressed file ends before its data do."""


def is_compressed(source: Source) -> bool:
    """Whether `open_source` decompresses, so that seeking is not cheap."""
    return source.path.suffix.lower() in _DECOMPRESSORS


def packed_bytes(stream: io.BufferedReader) -> int | None:
    """Bytes of the file that were taken for what came out of `stream`, which `open_source` gave, up to now.

    None where nothing is unpacked. Decompressors take pieces of 128 KiB at most, and some are taken ahead.
    """
    raw: Any = stream.raw
    return raw.packed_bytes() if isinstance(raw, (_GzipStream, _ZstandardStream)) else None


@contextmanager
def open_file(path: Path, root: Path) -> Iterator[io.BufferedReader]:
    """The bytes of a regular file inside `root`.

    A link that leads out of `root`, a pipe, a device or a socket is refused with `path_escape`; the check is repeated
    on the open descriptor, and opening never waits for a writer.
    """
    try:
        resolved = path.resolve(strict=True)
        inside = resolved.is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno != errno.ELOOP:  # up to Python 3.12 a loop is a RuntimeError
            raise
        raise DocumentError("path_escape", "The path is a loop of symbolic links.") from None
    if not inside:
        raise DocumentError("path_escape", "The path leads out of the input root.")
    if not stat.S_ISREG(resolved.stat().st_mode):
        raise DocumentError("path_escape", "The path is not a regular file.")
    descriptor = os.open(resolved, _FLAGS)
    stream: io.BufferedReader = io.BufferedReader(io.FileIO(descriptor), _BUFFER)
    with stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DocumentError("path_escape", "The path is not a regular file.")
        yield stream


@contextmanager
def open_source(source: Source) -> Iterator[io.BufferedReader]:
    """The content of a source, decompressed if its name ends in `.gz` or `.zst`. Damage raises while reading."""
    with open_file(source.path, source.root) as stream:
        decompress: Any = _DECOMPRESSORS.get(source.path.suffix.lower())
        if decompress is None:
            yield stream
        else:
            content = io.BufferedReader(decompress(stream), _BUFFER)
            with content:
                yield content


def check_beginning(stream: io.BufferedReader, name: str, beginning: bytes = b"") -> None:
    """Refuse a file that is not what the ending of its name says, in words instead of those of the format's library.

    Args:
        stream: at its start, where it stays.
        name: of the format.
        beginning: what every file of the format begins with.

    Raises:
        DocumentError: the file is empty or begins otherwise.
    """
    found = stream.peek(max(1, len(beginning)))
    if not found:
        raise DocumentError("unreadable", f"The file has 0 bytes, so it is no {name} file. Write it anew.")
    if not found.startswith(beginning):
        raise DocumentError(
            "unreadable",
            f"The file must begin with `{beginning.decode()}` as every {name} file does, but begins otherwise. Give it "
            "the ending of what it is.",
        )


def file_digest(path: Path, root: Path) -> str:
    """SHA-256 (hexadecimal) of the bytes as stored."""
    digest = hashlib.sha256()
    with open_file(path, root) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class _ZstandardStream(io.RawIOBase):
    """Frames of Zstandard one after the other; unlike the library's own reader it notices a cut in the last one."""

    _PIECE = 1024  # 1 KiB can stand for 32 MiB of repeated bytes at most, which bounds the memory of a bomb

    def __init__(self, stream: IO[bytes]) -> None:
        import zstandard

        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._ready = memoryview(b"")

    def packed_bytes(self) -> int:
        return self._stream.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = self._stream.read(self._PIECE)
            if not piece:
                if self._frame is not None:
                    raise TruncatedStreamError
                return 0
            self._ready = memoryview(self._decompress(piece))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompress(self, piece: bytes) -> bytes:
        out = []
        while piece:
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            out.append(self._frame.decompress(piece))
            piece = b""
            if self._frame.eof:
                piece, self._frame = self._frame.unused_data, None
        return b"".join(out)


class _GzipStream(io.RawIOBase):
    """A gzip file read piece by piece: what comes before a damaged place is handed out before the damage raises."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._content = gzip.GzipFile(fileobj=stream, mode="rb")

    def packed_bytes(self) -> int:
        return self._stream.tell()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._content.read1(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


_DECOMPRESSORS = {".gz": _GzipStream, ".zst": _ZstandardStream}

"""The physical lines of a file, numbered, decoded one by one, none longer than a limit."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import NamedTuple

from longdoc.errors import DocumentError
from longdoc.readers.base import ReadConfig, Source, record_limit
from longdoc.readers.encoding import SAMPLE_BYTES, Encoding, stream_encoding
from longdoc.readers.measure import beyond_measure, unpacks_to_too_much
from longdoc.readers.opening import is_compressed, open_source, packed_bytes

__all__ = ["Line", "LineFile", "line_at"]

_OFFSET_BITS = 48
_PIECE = 1 << 20


class Line(NamedTuple):
    """One physical line.

    Attributes:
        number: from 1, blank lines counted.
        cursor: `LineFile.lines(cursor)` begins with this line. Index of the line times 2**48, plus its byte offset
            where the file can be entered there; an integer of more than 64 bits in files of many lines.
        after: the cursor of what follows.
        text: with its line end. Bytes that do not fit the encoding appear as lone surrogates.
        fault: why the line cannot be used, or None.
        packed: bytes of a compressed file that were taken while the line was read; None in other files. Neighbours
            share pieces of 128 KiB.
    """

    number: int
    cursor: int
    after: int
    text: str
    fault: DocumentError | None
    packed: int | None = None


@dataclass(frozen=True)
class LineFile:
    """A file of lines in a known encoding. Build it with `LineFile.probe`.

    Attributes:
        source: the file.
        encoding: how its bytes become text.
        newline: what ends a line: a line feed, or a carriage return in files that have no line feed.
        limit: bytes that a line may have.
        sample: the beginning of the content, decoded.
    """

    source: Source
    encoding: Encoding
    newline: str
    limit: int
    sample: str

    @classmethod
    def probe(cls, source: Source, settings: ReadConfig, guess: bool) -> LineFile:
        """Look at the beginning (with `settings.encoding` perhaps at all of it) and find encoding and line ends."""
        with open_source(source) as stream:
            sample, at_end = _sample(stream)
            encoding = stream_encoding(sample, at_end, settings.encoding, guess)
            if encoding is None:
                encoding = _encoding_of_all(stream, sample, str(settings.encoding))
        text = codecs.getincrementaldecoder(encoding.name)("replace").decode(sample[encoding.mark :])
        newline = "\r" if "\n" not in text and "\r" in text[:-1] else "\n"
        return cls(source, encoding, newline, record_limit(settings), text)

    def lines(self, cursor: int = 0) -> Iterator[Line]:
        """Lines from the one at `cursor` on. Damaged compression raises after the last whole line before it."""
        index, offset = cursor >> _OFFSET_BITS, cursor & ((1 << _OFFSET_BITS) - 1)
        with open_source(self.source) as stream:
            if self.encoding.name != "utf-8" or self.newline != "\n":
                yield from self._decoded_lines(stream, index)
                return
            seekable = not is_compressed(self.source)
            stream.read(self.encoding.mark)
            if seekable:
                offset = max(offset, self.encoding.mark)
                stream.seek(offset)
            else:
                for _ in range(index):
                    _skip_line(stream)
            yield from self._utf8_lines(stream, index, offset if seekable else None)

    def _utf8_lines(self, stream: BufferedReader, index: int, offset: int | None) -> Iterator[Line]:
        limit = self.limit
        compressed = packed_bytes(stream) is not None
        while True:
            packed = None
            if compressed:
                raw, packed, bomb = _unpack_line(stream, limit)
            else:
                raw, bomb = stream.readline(limit + 1), False
            if not raw:
                return
            cursor = (index << _OFFSET_BITS) | (offset or 0)
            index += 1
            size = len(raw)
            fault = None
            if size > limit or bomb:
                text, fault = "", unpacks_to_too_much(f"Line {index}") if bomb else _too_large(index, limit)
                if not raw.endswith(b"\n"):
                    raw = b""  # the rest may be much longer
                    size += _skip_line(stream)
            else:
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    text, fault = raw.decode("utf-8", "surrogateescape"), _undecodable(index, error.start, "utf-8")
            if offset is not None:
                offset += size
            raw = b""  # not beside its text, which others look at now
            yield Line(index, cursor, (index << _OFFSET_BITS) | (offset or 0), text, fault, packed)

    def _decoded_lines(self, stream: BufferedReader, first: int) -> Iterator[Line]:
        """The same for encodings in which a line end cannot be found without decoding."""
        stream.read(self.encoding.mark)
        wide = self.encoding.name.startswith("utf-16") or self.encoding.name.startswith("utf-32")
        decoder = codecs.getincrementaldecoder(self.encoding.name)("surrogatepass" if wide else "surrogateescape")
        pieces: list[str] = []
        index, size, bomb = 0, 0, False
        before = packed = packed_bytes(stream)
        while True:
            block = stream.read1(1 << 16)
            packed = packed_bytes(stream)
            *ends, rest = decoder.decode(block, final=not block).split(self.newline)
            for end in ends:
                if index >= first:
                    yield self._line(index, "".join((*pieces, end, self.newline)), size, bomb, _between(before, packed))
                pieces, index, size, bomb, before = [], index + 1, 0, False, packed
            size += len(rest)
            taken = _between(before, packed)
            bomb = bomb or (taken is not None and size <= self.limit and beyond_measure(size, taken))
            if size <= self.limit and not bomb:
                pieces.append(rest)
            else:
                pieces = []
            if not block:
                if size and index >= first:
                    yield self._line(index, "".join(pieces), size, bomb, taken)
                return

    def _line(self, index: int, text: str, size: int, bomb: bool, packed: int | None) -> Line:
        fault = None
        if bomb:
            text, fault = "", unpacks_to_too_much(f"Line {index + 1}")
        elif max(size, len(text)) > self.limit:
            text, fault = "", _too_large(index + 1, self.limit)
        elif not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                fault = _undecodable(index + 1, error.start, self.encoding.name)
        return Line(index + 1, index << _OFFSET_BITS, (index + 1) << _OFFSET_BITS, text, fault, packed)


def line_at(cursor: int) -> int:
    """The number, from 1, of the line that `cursor` stands for."""
    return (cursor >> _OFFSET_BITS) + 1


def _sample(stream: BufferedReader) -> tuple[bytes, bool]:
    """The beginning of the content and whether it is all. Damage stays for the one who reads up to it."""
    pieces: list[bytes] = []
    size = 0
    try:
        while size < SAMPLE_BYTES:
            piece = stream.read1(SAMPLE_BYTES - size)
            if not piece:
                return b"".join(pieces), True
            pieces.append(piece)
            size += len(piece)
    except Exception:
        if not pieces:
            raise
    return b"".join(pieces), False


def _encoding_of_all(stream: BufferedReader, sample: bytes, given: str) -> Encoding:
    """UTF-8 if the whole file is valid, else what the user says."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
        while block := stream.read(1 << 20):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return Encoding(given, "given")
    except Exception:
        pass  # damage stays for the one who reads up to it
    return Encoding("utf-8")


def _unpack_line(stream: BufferedReader, limit: int) -> tuple[bytes, int, bool]:
    """A line of a compressed file, or a part of one that is longer than `limit` or unpacks to too much; the bytes of
    the file that were taken for it; and whether it unpacks to too much.
    """
    before = packed = packed_bytes(stream) or 0
    pieces: list[bytes] = []
    size, bomb = 0, False
    while size <= limit and not bomb:
        piece = stream.readline(min(limit + 1 - size, _PIECE))
        pieces.append(piece)
        size += len(piece)
        packed = packed_bytes(stream) or 0
        if not piece or piece.endswith(b"\n"):
            break
        bomb = beyond_measure(size, packed - before)
    return b"".join(pieces[-1:] if bomb else pieces), packed - before, bomb


def _between(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _skip_line(stream: BufferedReader) -> int:
    """Read on to the line end; the number of bytes skipped."""
    skipped = 0
    while True:
        raw = stream.readline(_PIECE)
        skipped += len(raw)
        if not raw or raw.endswith(b"\n"):
            return skipped


def _too_large(number: int, limit: int) -> DocumentError:
    return DocumentError("too_large", f"Line {number} is longer than {limit} bytes. Raise `read.max_bytes` to read it.")


def _undecodable(number: int, position: int, encoding: str) -> DocumentError:
    return DocumentError(
        "decode_error",
        f"Line {number} does not fit the encoding {encoding} at position {position}. "
        f"Set `read.encoding`, for example to `cp1252`, if you know it.",
    )

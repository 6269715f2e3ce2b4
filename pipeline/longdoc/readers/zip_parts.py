"""The parts of a document that is a ZIP file, read with bounds: strangers make archives that unpack to terabytes.

Nothing is extracted to disk and archives inside the archive are not opened, so that the names of entries can do no
harm; sizes are counted while unpacking, since what the archive says of them may be a lie.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

from longdoc.errors import DocumentError

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "ZipParts"]

MOST_ENTRIES = 10_000
"""Entries of an archive; a Word document has one for each picture and some dozens more."""
MOST_BYTES = 200 << 20
"""Bytes that all parts that are read may unpack to."""
MOST_RATIO = 200
"""Bytes that one packed byte may stand for, in parts of more than `_FREE` bytes."""
_FREE = 1 << 20
_PIECE = 1 << 16
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Those of ECMA-376 part 2. Others that Python knows may ask for gigabytes before the first byte."""


class ZipParts:
    """The entries of an archive by name.

    Raises `DocumentError`: `zip_bomb` for too many entries, and while reading for parts that unpack to too much;
    `encrypted` for a part with a password; `unreadable` for what is damaged, or has two parts of one name.
    """

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OverflowError):
            damaged = True
        else:
            damaged = False
        if damaged:
            raise DocumentError("unreadable", "The ZIP file is damaged or cut off. Get a whole copy of it.")
        entries = self._archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise DocumentError("zip_bomb", f"The ZIP file has {len(entries)} entries; {MOST_ENTRIES} are allowed.")
        self._entries: dict[str, list[zipfile.ZipInfo]] = {}
        for entry in entries:
            self._entries.setdefault(entry.filename.lower(), []).append(entry)
        self._total = 0

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._entries

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a part, unpacked piece by piece. Names of parts are the same in capitals (ECMA-376 part 2)."""
        found = self._entries.get(name.lower(), [])
        if len(found) != 1:
            raise DocumentError("unreadable", f"The document has {len(found)} parts of a name that must occur once.")
        (entry,) = found
        if entry.flag_bits & _ENCRYPTED:
            raise DocumentError("encrypted", "The document is protected with a password. Save it without one.")
        if entry.compress_type not in _METHODS:
            raise DocumentError(
                "unreadable", "A part of the document is packed in a way that the format does not know."
            )
        size = 0
        faulty = False
        try:
            with self._archive.open(entry) as stream:
                while piece := stream.read(_PIECE):
                    size += len(piece)
                    self._total += len(piece)
                    if self._total > MOST_BYTES or (size > _FREE and size > MOST_RATIO * max(entry.compress_size, 1)):
                        raise _bomb()
                    yield piece
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError):
            faulty = True
        if faulty:
            raise DocumentError("unreadable", "A part of the document is damaged or cut off. Get a whole copy of it.")


def _bomb() -> DocumentError:
    return DocumentError(
        "zip_bomb",
        f"The document unpacks to more than {MOST_BYTES >> 20} MiB, or to more than {MOST_RATIO} times its size.",
    )

"""All bytes of a file, decompressed, within a limit. For formats that are one document a file."""

from __future__ import annotations

import os

from longdoc.readers.base import Source
from longdoc.readers.fields import too_large
from longdoc.readers.opening import is_compressed, open_source

__all__ = ["read_whole"]


def read_whole(source: Source, limit: int) -> bytes:
    """The content of `source`. Raises `DocumentError("too_large")` before more than `limit` bytes are held."""
    with open_source(source) as stream:
        if not is_compressed(source) and os.fstat(stream.fileno()).st_size > limit:
            raise too_large(limit)
        pieces, size = [], 0
        while piece := stream.read1(1 << 20):  # asking for the limit at once would reserve that much memory
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_large(limit)
    return b"".join(pieces)

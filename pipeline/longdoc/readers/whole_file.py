"""All bytes of a file, decompressed, within a limit. For formats that are one document a file."""

from __future__ import annotations

import os

from longdoc.readers.base import Source
from longdoc.readers.fields import too_large
from longdoc.readers.measure import beyond_measure, unpacks_to_too_much
from longdoc.readers.opening import is_compressed, open_source, packed_bytes

__all__ = ["read_whole"]


def read_whole(source: Source, limit: int) -> bytes:
    """The content of `source`.

    Raises `DocumentError`: `too_large` before more than `limit` bytes are held, `zip_bomb` as soon as what came out of
    a compressed file is beyond measure.
    """
    with open_source(source) as stream:
        if not is_compressed(source) and os.fstat(stream.fileno()).st_size > limit:
            raise too_large(limit)
        pieces, size = [], 0
        while piece := stream.read1(1 << 20):  # asking for the limit at once would reserve that much memory
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            packed = packed_bytes(stream)
            if packed is not None and beyond_measure(size, packed):
                raise unpacks_to_too_much("The text")
    return b"".join(pieces)
